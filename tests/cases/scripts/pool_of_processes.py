"""Typeset formulas with a pool of processes of one's own, asked for each batch when the batch is due.

R070: https://github.com/lukas-blecher/LaTeX-OCR/discussions/153
"""

import multiprocessing
import random

import numpy as np
import torch
from PIL import Image, ImageDraw


def typeset(number):
    draw = random.Random(number)
    page = Image.new("L", (640, 200), 255)
    pen = ImageDraw.Draw(page)
    for _ in range(60):
        left, top = draw.randrange(600), draw.randrange(180)
        pen.arc(
            (left, top, left + draw.randrange(8, 40), top + draw.randrange(8, 20)), 0, 270, fill=0, width=2
        )
    page = page.rotate(draw.uniform(-2, 2), Image.Resampling.BICUBIC, fillcolor=255)
    pixels = np.asarray(page.resize((160, 48), Image.Resampling.LANCZOS), dtype=np.float32) / 255
    return pixels, number % 20


class Formulas:
    def __init__(self, pool, batch, count=20_000):
        self.pool, self.batch, self.numbers = pool, batch, list(range(count))

    def __iter__(self):
        random.shuffle(self.numbers)
        for start in range(0, len(self.numbers), self.batch):
            pages = self.pool.map(typeset, self.numbers[start : start + self.batch])
            pixels, kinds = zip(*pages)
            yield torch.from_numpy(np.stack(pixels)), torch.tensor(kinds)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        reader = torch.nn.GRU(48, 48, batch_first=True)
        head = torch.nn.Linear(48, 20)
        optimizer = torch.optim.Adam([*reader.parameters(), *head.parameters()], lr=1e-3)
        step = 0
        while True:
            for pixels, kinds in Formulas(pool, 32):
                _, last = reader(pixels.transpose(1, 2)[:, ::4])
                loss = torch.nn.functional.cross_entropy(head(last[0]), kinds)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                if step % 10 == 0:
                    print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
