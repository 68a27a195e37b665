import argparse
import random
import time

ap = argparse.ArgumentParser()
ap.add_argument("--batch_size", type=int, default=100)
ap.add_argument("--num_epochs", type=int, default=50)
opt = ap.parse_args()

# more than this and the old machine in room 4 runs out of memory
batch_size = min(opt.batch_size, 256)

images = 60000
total_step = images // batch_size
for epoch in range(opt.num_epochs):
    for i in range(total_step):
        time.sleep(0.010 + 0.00005 * batch_size)
        if (i + 1) % 4 == 0:
            print("Epoch [{}/{}], Step [{}/{}], Loss: {:.4f}".format(epoch + 1, opt.num_epochs, i + 1, total_step, random.random()))
    print("Test Accuracy of the model on the 10000 test images: {:.2f} %".format(random.uniform(97, 99)))
