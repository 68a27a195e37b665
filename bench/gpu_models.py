"""Networks for bench/gpu_programs, with synthetic data already on the GPU.

`training(name, batch)` returns a function that runs one training step. CAP_GIB in the environment
caps PyTorch's memory, as a smaller GPU would; BENCH_DEVICE=cpu tries it without one.
"""
import os

import torch

DEVICE = os.environ.get("BENCH_DEVICE", "cuda")
NAMES = ("resnet18", "bert", "gpt", "mlp")


def cap_memory():
    """As on a GPU with CAP_GIB."""
    cap = float(os.environ.get("CAP_GIB", "0")) * 2**30
    if cap and DEVICE == "cuda":
        whole = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, cap / whole))


def resnet18():
    """He et al. 2016, for 1000 classes at 224 by 224."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.short = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            y = torch.relu(self.norm1(self.conv1(x)))
            return torch.relu(self.norm2(self.conv2(y)) + self.short(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(inputs, outputs, 1 if outputs == 64 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def transformer(name):
    """BERT or GPT-2 of transformers, with random weights and half the usual depth."""
    import transformers
    if name == "bert":
        config = transformers.BertConfig(num_hidden_layers=6)
        return transformers.BertForMaskedLM(config)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=6))


SEQUENCE = 128


def mlp():
    """Small enough to try anywhere."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1000))


def made(name):
    torch.manual_seed(1)
    model = {"resnet18": resnet18, "mlp": mlp}.get(name, lambda: transformer(name))()
    return model.to(DEVICE).train()


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def data(name, batch):
    shapes = {"resnet18": (3, 224, 224), "mlp": (256,)}
    if name in shapes:
        return (torch.randn(batch, *shapes[name], device=DEVICE),
                torch.randint(1000, (batch,), device=DEVICE))
    words = torch.randint(1000, (batch, SEQUENCE), device=DEVICE)
    return words, words


def loss_of(name, model, inputs, answers):
    if name in ("resnet18", "mlp"):
        return torch.nn.functional.cross_entropy(model(inputs), answers)
    return model(input_ids=inputs, labels=answers).loss


def training(name, batch):
    """A function that runs one step, synchronises with the GPU and returns the loss."""
    model = made(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs, answers = data(name, batch)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(name, model, inputs, answers)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step
