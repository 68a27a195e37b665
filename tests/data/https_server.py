"""A mirror for tests, over HTTPS: complete, interrupted, redirected, slow, wrong, too large.

    https_server.py FOLDER    serves FOLDER/files; writes FOLDER/certificate.pem and FOLDER/requests

Prints its two ports (HTTPS, plain) once it listens, and ends when its input does. The plain one is
what a redirection away from HTTPS points to, and a proxy that writes down whom it was asked for.
"""

import http.server
import ssl
import subprocess
import sys
import threading
from pathlib import Path

FOLDER = Path(sys.argv[1])
PIECE = 1000  # bytes that an interrupting mirror sends at a time


class Mirror(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def note(self):
        with open(FOLDER / "requests", "a") as log:
            log.write(f"{self.command} {self.path} {self.headers.get('Range', '-')}\n")

    def log_message(self, *arguments):
        pass

    def do_CONNECT(self):
        self.note()
        self.send_error(403)

    def redirect(self, url):
        self.send_response(302)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.note()
        _, how, name = self.path.split("/", 2)
        if how == "redirected":
            return self.redirect(f"/whole/{name}")
        if how == "circle":
            return self.redirect(self.path)
        if how == "insecure":
            return self.redirect(f"http://127.0.0.1:{plain.server_address[1]}/whole/{name}")
        if how == "missing":
            return self.send_error(404)
        content = (FOLDER / "files" / name).read_bytes()
        if how == "wrong":
            content = bytes(255 - byte for byte in content)
        if how == "oversized":
            content += b"x"
        if how == "endless":  # no length is sent
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content + b"x")
            self.close_connection = True
            return None
        return self.send(content, how)

    def send(self, content, how):
        begin = 0
        if how != "rangeless" and "Range" in self.headers:
            begin = int(self.headers["Range"].removeprefix("bytes=").split("-")[0])
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        rest = content[begin:]
        if how in ("broken", "rangeless"):
            self.wfile.write(rest[:PIECE])
            self.close_connection = len(rest) > PIECE
        elif how == "slow":
            self.wfile.write(rest[:10])
            self.wfile.flush()
            self.connection.recv(1)  # until the client gives up
            self.close_connection = True
        else:
            self.wfile.write(rest)


certificate, key = FOLDER / "certificate.pem", FOLDER / "key.pem"
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
               check=True, capture_output=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
secure = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
secure.socket = context.wrap_socket(secure.socket, server_side=True)
secure.handle_error = lambda *arguments: None  # a client that disconnected
plain = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
for server in (secure, plain):
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(secure.server_address[1], plain.server_address[1], flush=True)
sys.stdin.read()
