import datetime
import sys
import time

batch = int(sys.argv[sys.argv.index("--bsz") + 1])
samples = 400_000
print("hello. this is going to take a while, go get a coffee")
print("(resuming is off; 3 old checkpoints ignored)")
begin = time.monotonic()
done = 0
while done < samples:
    time.sleep(0.015 + 0.00075 * batch)
    done += batch
    left = (time.monotonic() - begin) / done * (samples - done)
    print("ETA", datetime.timedelta(seconds=int(left)), flush=True)
print("done!")
