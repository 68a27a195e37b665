import time, random, sys
bs = int(sys.argv[1])
l = 4.6
while 1:
    time.sleep(.006 + .0015 * bs)
    l = l * .999 + random.gauss(0, .01)
    print('loss =', l)
