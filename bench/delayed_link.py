"""Two hosts on this machine, connected by a link of a given delay and rate.

A host is a network namespace with a tun device, and this process forwards packets between the two: a
packet queues at the link's rate, and then waits for its delay. For kernels without netem; needs root.
"""
import fcntl
import heapq
import os
import select
import struct
import subprocess
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
MTU = 65000  # large packets: forwarding has a cost per packet, and this keeps its CPU use low
QUEUE = 20000


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class DelayedLink:
    """with DelayedLink(seconds, bytes_per_second) as link: link.hosts are (namespace, address)."""

    def __init__(self, delay_seconds, bytes_per_second, name="sweetspot"):
        self.delay, self.rate, self.name = delay_seconds, bytes_per_second, name
        self.hosts = [(f"{name}-{side}", f"10.77.0.{number}") for number, side in ((1, "a"), (2, "b"))]
        self.ends, self.stop, self.packets = [], threading.Event(), 0

    def __enter__(self):
        try:
            for space, address in self.hosts:
                ip("netns", "add", space)
                ip("-n", space, "link", "set", "lo", "up")
                device = f"{space}-tun"[:15]
                end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
                self.ends.append(end)
                ip("link", "set", device, "netns", space)
                ip("-n", space, "link", "set", device, "mtu", str(MTU), "txqueuelen", str(QUEUE))
                ip("-n", space, "addr", "add", f"{address}/24", "dev", device)
                ip("-n", space, "link", "set", device, "up")
        except BaseException:
            self.__exit__()
            raise
        self.carrier = threading.Thread(target=self.carry, daemon=True)
        self.carrier.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        if hasattr(self, "carrier"):
            self.carrier.join()
        for end in self.ends:
            os.close(end)
        for space, _ in self.hosts:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)

    def carry(self):
        waiting, free = [], [0.0, 0.0]  # per direction: when the last packet has left
        while not self.stop.is_set():
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, _, to, packet = heapq.heappop(waiting)
                try:
                    os.write(self.ends[to], packet)
                except OSError:
                    pass  # the host is not up, or its queue is full: TCP retransmits
            timeout = min(0.1, max(0.0, waiting[0][0] - now)) if waiting else 0.1
            readable, _, _ = select.select(self.ends, [], [], timeout)
            for end in readable:
                side = self.ends.index(end)
                try:
                    packet = os.read(end, MTU + 100)
                except OSError:
                    continue
                self.packets += 1
                now = time.monotonic()
                free[side] = max(now, free[side]) + len(packet) / self.rate
                heapq.heappush(waiting, (free[side] + self.delay, self.packets, 1 - side, packet))
