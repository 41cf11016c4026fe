"""Draw lines of text for a recogniser in the loader as it comes, and put a thread before it that fetches ahead.

R069: https://github.com/mindee/doctr/issues/190
"""

import queue
import random
import string
import threading

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFilter
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __len__(self):
        return 8000

    def __getitem__(self, index):
        return self.line(index)

    def line(self, index):
        draw = random.Random(index)
        text = "".join(draw.choices(string.ascii_lowercase, k=12))
        page = Image.new("L", (1024, 160), 255)
        pen = ImageDraw.Draw(page)
        for place, letter in enumerate(text):
            pen.text((20 + 80 * place, 60 + draw.randint(-15, 15)), letter, fill=draw.randint(0, 80))
        page = page.rotate(draw.uniform(-3, 3), Image.Resampling.BICUBIC, fillcolor=255)
        page = page.filter(ImageFilter.GaussianBlur(draw.uniform(0.5, 2))).resize((256, 32))
        pixels = torch.from_numpy(np.asarray(page, dtype=np.float32) / 255)
        return pixels, torch.tensor([1 + ord(letter) - 97 for letter in text])


class AheadLoader(DataLoader):
    def __iter__(self):
        ready = queue.Queue(maxsize=4)
        batches = super().__iter__()

        def fill():
            for batch in batches:
                ready.put(batch)
            ready.put(None)

        threading.Thread(target=fill, daemon=True).start()
        while (batch := ready.get()) is not None:
            yield batch


class Recogniser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.columns = torch.nn.Conv2d(1, 32, (32, 8), stride=(1, 4))
        self.rnn = torch.nn.GRU(32, 32, bidirectional=True)
        self.letters = torch.nn.Linear(64, 27)

    def forward(self, pixels):
        columns = self.columns(pixels.unsqueeze(1)).squeeze(2).permute(2, 0, 1)
        return self.letters(self.rnn(columns)[0]).log_softmax(-1)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = AheadLoader(Lines(), batch_size=16, shuffle=True)
    model = Recogniser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    while True:
        for pixels, letters in loader:
            steps = model(pixels)
            loss = torch.nn.functional.ctc_loss(
                steps, letters, torch.full((16,), len(steps)), torch.full((16,), 12)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
