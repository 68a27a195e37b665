"""sweetspot.tune() with the real frameworks: test_frameworks.py SWEETSPOT [TEST ...].

PyTorch, Lightning, Hugging Face's transformers and Accelerate, as far as they are installed, on the
GPU where there is one."""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))
import sweetspot  # noqa: E402


def installed(*names):
    return next((name for name in names if importlib.util.find_spec(name)), None)


if installed("torch"):
    import torch
    import torch.nn.functional as F
    from torch.utils.data import DataLoader, TensorDataset
LIGHTNING = installed("lightning", "pytorch_lightning")
DEVICE = "cuda" if installed("torch") and torch.cuda.is_available() else "cpu"
# Short trials: the measurement itself is not tested here.
QUICK = {"repeat": 1, "precision_of_estimate": 0.5, "quiet": True}
TWO = dict(QUICK, min=8, max=32, multiple_of=8)


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def samples(self, count=256):
        return TensorDataset(torch.randn(count, 32), torch.randint(0, 4, (count,)))

    def network(self):
        torch.manual_seed(1)
        return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.BatchNorm1d(64),
                                   torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(64, 4))

    def assertSame(self, model, weights):
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value.cpu(), weights[name].cpu()), name)

    def copy_of(self, model):
        return {name: value.clone() for name, value in model.state_dict().items()}


@unittest.skipUnless(installed("torch"), "PyTorch is not installed")
class PyTorch(TestCase):
    def test_a_model_that_is_there_already_starts_from_the_same_weights(self):
        model = self.network().to(DEVICE)
        optimizer = torch.optim.Adam(model.parameters())
        data = self.samples()
        weights, numbers = self.copy_of(model), (random.getstate(), torch.get_rng_state())

        def train(batch):
            for x, y in sweetspot.data(DataLoader(data, batch_size=batch, shuffle=True,
                                                  num_workers=2)):
                loss = F.cross_entropy(model(x.to(DEVICE)), y.to(DEVICE))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                yield len(x)

        best = sweetspot.tune(train, restore=[model, optimizer], **dict(TWO, max=16))
        self.assertIn(best.batch, (8, 16))
        self.assertSame(model, weights)
        self.assertEqual(len(optimizer.state), 0)
        self.assertTrue(all(weight.grad is None for weight in model.parameters()))
        self.assertEqual(random.getstate(), numbers[0])
        self.assertTrue(torch.equal(torch.get_rng_state(), numbers[1]))

    def test_memory_that_the_allocator_refuses(self):
        pids = set()

        def train(batch):
            pids.add(os.getpid())
            model = self.network().to(DEVICE)
            while True:
                model(torch.randn(batch, 32, device=DEVICE)).sum().backward()
                if batch > 16:
                    torch.empty(1 << 50, device=DEVICE)  # a pebibyte
                sweetspot.step(batch)

        best = sweetspot.tune(train, **TWO)
        self.assertLessEqual(best.batch, 16)
        outcomes = {trial["setting"]["batch"]: trial["outcome"] for trial in best.json["trials"]}
        self.assertEqual(outcomes[32], "out_of_memory")
        self.assertEqual(pids, {os.getpid()})

    @unittest.skipUnless(DEVICE == "cuda", "there is no GPU")
    def test_a_gpu_that_is_full_in_the_middle_of_a_step(self):
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction((2 << 30) / total)
        self.addCleanup(torch.cuda.set_per_process_memory_fraction, 1.0)
        order, free = [], []

        def train(batch):
            order.append(batch)
            free.append(torch.cuda.memory_allocated())
            layers = torch.nn.Sequential(*[torch.nn.Conv2d(64, 64, 3, padding=1)
                                           for _ in range(8)]).to(DEVICE)
            optimizer = torch.optim.SGD(layers.parameters(), lr=1e-4)
            while True:
                loss = layers(torch.randn(batch, 64, 64, 64, device=DEVICE)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                yield batch

        best = sweetspot.tune(train, goal="max-batch", **dict(QUICK, min=8, max=4096))
        outcomes = [(trial["setting"]["batch"], trial["outcome"]) for trial in best.json["trials"]]
        print("\n  max-batch under 2 GiB:", best.batch, "order", order, "outcomes", outcomes)
        full = [batch for batch, outcome in outcomes if outcome == "out_of_memory"]
        self.assertTrue(full)
        self.assertTrue(any(later < min(full) for later in order[order.index(max(full)):]),
                        "it went on in this process")
        self.assertLess(max(free), 64 << 20, "what a batch held came back")
        memory = best.json["trials"][0]["memory_bytes"]
        self.assertEqual(memory["source"], "torch.cuda.max_memory_reserved")


    def test_a_program_that_sweetspot_runs_survives_in_one_process(self):
        Path("program.py").write_text("""
import os, sweetspot, torch
device = "cuda" if torch.cuda.is_available() else "cpu"
print(os.getpid(), file=open("pids", "a"))

def train(batch):
    weights = torch.zeros(256, 256, device=device, requires_grad=True)
    while True:
        (torch.randn(batch, 256, device=device) @ weights).sum().backward()
        if batch > 16:
            held = [torch.empty(1 << 26, device=device), torch.empty(1 << 50, device=device)]
        sweetspot.step(batch)

sweetspot.run(train)
""")
        told = subprocess.run(
            [os.environ["SWEETSPOT"], "tune", "--json", "--no-report", "--batch-from-env", "--min",
             "8", "--max", "32", "--multiple-of", "8", "--env",
             "PYTHONPATH=" + str(Path(sweetspot.__file__).parent), "--", sys.executable, "-B",
             "program.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(told.returncode, 0, told.stderr)
        trials = json.loads(told.stdout)["trials"]
        self.assertIn("out_of_memory", {trial["outcome"] for trial in trials})
        self.assertEqual(len(Path("pids").read_text().split()), 1, trials)


@unittest.skipUnless(LIGHTNING, "Lightning is not installed")
class Lightning(TestCase):
    def setUp(self):
        super().setUp()
        self.lightning = importlib.import_module(
            "lightning.pytorch" if LIGHTNING == "lightning" else LIGHTNING)

    def module(self):
        case, lightning = self, self.lightning

        class Module(lightning.LightningModule):
            def __init__(self, batch_size=4):
                super().__init__()
                self.save_hyperparameters()
                self.network, self.data = case.network(), case.samples()
                self.validations = self.seen = 0

            def training_step(self, batch, index):
                self.seen = len(batch[0])
                loss = F.cross_entropy(self.network(batch[0]), batch[1])
                self.log("loss", loss)
                return loss

            def validation_step(self, batch, index):
                self.validations += 1
                self.log("val_loss", F.cross_entropy(self.network(batch[0]), batch[1]))

            def configure_optimizers(self):
                optimizer = torch.optim.Adam(self.parameters())
                plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
                return {"optimizer": optimizer,
                        "lr_scheduler": {"scheduler": plateau, "monitor": "val_loss"}}

            def train_dataloader(self):
                return DataLoader(self.data, batch_size=self.hparams.batch_size)

            def val_dataloader(self):
                return DataLoader(self.data, batch_size=64)

        return Module()

    def trainer(self, **options):
        return self.lightning.Trainer(
            accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, max_epochs=1,
            logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, **options)

    def test_the_batch_is_set_and_the_training_starts_from_the_same_weights(self):
        module, trainer = self.module(), self.trainer(accumulate_grad_batches=2)
        weights = self.copy_of(module)
        best = sweetspot.lightning_tune(trainer, module, **dict(TWO, multiple_of=16, min=16))
        self.assertEqual((best.batch, best.accumulation), (best.micro_batch * 2, 2))
        self.assertEqual(module.hparams.batch_size, best.micro_batch)
        self.assertSame(module, weights)
        self.assertEqual((module.validations, trainer.global_step), (0, 0))
        trainer.fit(module)
        self.assertEqual(module.seen, best.micro_batch)
        self.assertEqual(trainer.global_step, 256 // best.batch)
        self.assertGreater(module.validations, 0)

    def test_the_callback_does_it_before_the_training(self):
        module, finder = self.module(), sweetspot.lightning_batch_finder(**TWO)
        trainer = self.trainer(callbacks=[finder])
        trainer.fit(module)
        self.assertEqual(module.hparams.batch_size, finder.answer.batch)
        self.assertEqual(module.seen, finder.answer.batch)
        self.assertEqual(trainer.global_step, 256 // finder.answer.batch)
        self.assertIs(module.trainer, trainer)

    def test_a_batch_that_is_out_of_memory(self):
        module = self.module()
        whole = module.training_step

        def training_step(batch, batch_idx):
            if len(batch[0]) > 16:
                torch.empty(1 << 50, device=DEVICE)
            return whole(batch, batch_idx)

        module.training_step = training_step
        best = sweetspot.lightning_tune(self.trainer(), module, **TWO)
        self.assertLessEqual(best.batch, 16)
        self.assertIn("out_of_memory", {trial["outcome"] for trial in best.json["trials"]})

    def test_a_module_without_a_batch_size(self):
        with self.assertRaisesRegex(ValueError, "neither the model nor the data module has 'b'"):
            sweetspot.lightning_tune(self.trainer(), self.module(), batch_arg_name="b")


@unittest.skipUnless(installed("transformers") and installed("accelerate"),
                     "transformers is not installed")
class HuggingFace(TestCase):
    def trainer(self, **arguments):
        import transformers
        torch.manual_seed(1)
        model = transformers.BertForSequenceClassification(transformers.BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=64, num_labels=2))
        data = [{"input_ids": torch.randint(0, 100, (16,)), "labels": torch.tensor(i % 2)}
                for i in range(256)]
        args = transformers.TrainingArguments(
            "out", per_device_train_batch_size=4, num_train_epochs=1, report_to=[],
            save_strategy="no", logging_steps=1000, disable_tqdm=True,
            use_cpu=DEVICE == "cpu", **arguments)
        return transformers.Trainer(model=model, args=args, train_dataset=data)

    def test_the_batch_is_set_and_the_training_starts_from_the_same_weights(self):
        trainer = self.trainer(gradient_accumulation_steps=2)
        weights, callbacks = self.copy_of(trainer.model), list(trainer.callback_handler.callbacks)
        best = sweetspot.hf_tune(trainer, **dict(QUICK, min=16, max=32, multiple_of=16))
        self.assertEqual(trainer.args.per_device_train_batch_size, best.batch // 2)
        self.assertSame(trainer.model, weights)
        self.assertEqual(trainer.callback_handler.callbacks, callbacks)
        self.assertEqual((trainer.state.global_step, trainer.optimizer), (0, None))
        self.assertFalse(Path("out").exists() and any(Path("out").iterdir()))
        trainer.train()
        self.assertEqual(trainer.state.global_step, 256 // best.batch)

    def test_a_batch_that_is_out_of_memory(self):
        trainer = self.trainer()
        whole = trainer.training_step

        def training_step(model, inputs, *others, **keywords):
            if len(inputs["labels"]) > 16:
                torch.empty(1 << 50, device=DEVICE)
            return whole(model, inputs, *others, **keywords)

        trainer.training_step = training_step
        best = sweetspot.hf_tune(trainer, **TWO)
        self.assertLessEqual(best.batch, 16)
        self.assertIn("out_of_memory", {trial["outcome"] for trial in best.json["trials"]})


# As torchrun starts them; Debian's does not run with its own Python.
LAUNCH = """
import os, socket, subprocess, sys

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
ranks = [subprocess.Popen([sys.executable] + sys.argv[2:], env=dict(
    os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=sys.argv[1],
    MASTER_ADDR="127.0.0.1", MASTER_PORT=port)) for rank in range(int(sys.argv[1]))]
sys.exit(max(rank.wait() for rank in ranks))
"""
DISTRIBUTED = """
import sys
import torch
import torch.distributed as dist
import sweetspot

dist.init_process_group("gloo")
batch = int(sys.argv[1])
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in sweetspot.data(range(100000)):
    optimizer.zero_grad()
    model(torch.randn(batch, 32)).square().mean().backward()
    optimizer.step()
    sweetspot.step(%s)
"""


@unittest.skipUnless(installed("torch") and torch.distributed.is_available(), "no torch.distributed")
class Distributed(TestCase):
    def sweep(self, samples, *flags):
        Path("launch.py").write_text(LAUNCH)
        Path("train.py").write_text(DISTRIBUTED % samples)
        clients = str(Path(sweetspot.__file__).parent)
        done = subprocess.run(
            [os.environ["SWEETSPOT"], "sweep", "--json", "--batch", "16", "--precision-of-estimate",
             "50%", "--gpus", "2", *flags, "--env", "OMP_NUM_THREADS=1", "--env",
             "PYTHONPATH=" + clients, "--", sys.executable, "-B", "launch.py", "{gpus}", "train.py",
             "{batch}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        trial, = json.loads(done.stdout)["trials"]
        self.assertEqual(trial["outcome"], "ok", trial["note"])
        self.assertEqual(trial["step_source"], "client (python)")
        # Two processes; their samples are counted once.
        self.assertEqual(trial["samples_seen"] % 16, 0)
        self.assertEqual(trial["samples_seen"] // 16, trial["steps"] + trial["warm_up_steps"])
        return trial

    def test_two_processes_with_a_batch_each(self):
        self.sweep("batch", "--batch-is", "per-gpu")

    def test_two_processes_that_tell_the_samples_of_both(self):
        self.sweep("batch * dist.get_world_size()", "--batch-is", "per-gpu")


@unittest.skipUnless(installed("accelerate"), "Accelerate is not installed")
class Accelerate(TestCase):
    def test_the_decorator_with_an_accelerator(self):
        import accelerate
        data, ended = self.samples(), []

        @sweetspot.find_batch_size(**TWO)
        def train(batch):
            accelerator = accelerate.Accelerator(cpu=DEVICE == "cpu")
            model = self.network()
            optimizer = torch.optim.Adam(model.parameters())
            model, optimizer, loader = accelerator.prepare(
                model, optimizer, DataLoader(data, batch_size=batch))
            for x, y in loader:
                optimizer.zero_grad()
                accelerator.backward(F.cross_entropy(model(x), y))
                optimizer.step()
                sweetspot.step(len(x))
            ended.append(batch)
            return "trained"

        self.assertEqual(train(), "trained")
        self.assertEqual(ended[-1], train.answer.batch)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("test_frameworks.py: give the path of the program sweetspot")
    os.environ["SWEETSPOT"] = os.path.abspath(sys.argv.pop(1))
    unittest.main()
