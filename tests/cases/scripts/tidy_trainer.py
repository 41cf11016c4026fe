"""Train a sentence tagger with a small trainer and its callbacks."""

import gc
import random

import torch
from torch import nn


class Token:
    __slots__ = ("word", "tag", "span")

    def __init__(self, word, tag, span):
        self.word, self.tag, self.span = word, tag, span


class Corpus:
    def __init__(self, sentences=16000, length=24):
        draw = random.Random(0)
        self.sentences = [
            [Token(draw.randrange(5000), draw.randrange(17), [i, i + 1]) for i in range(length)]
            for _ in range(sentences)
        ]
        self.words = torch.tensor([[token.word for token in sentence] for sentence in self.sentences])
        self.tags = torch.tensor([[token.tag for token in sentence] for sentence in self.sentences])

    def batches(self, size):
        order = torch.randperm(len(self.words))
        for chosen in order.split(size):
            yield self.words[chosen], self.tags[chosen]


class Callback:
    def on_step_end(self, trainer):
        pass


class Progress(Callback):
    def on_step_end(self, trainer):
        if trainer.step % 50 == 0:
            print(f"step {trainer.step} loss {trainer.loss.item():.3f}", flush=True)


class ReleaseMemory(Callback):
    def __init__(self, every=5):
        self.every = every

    def on_step_end(self, trainer):
        if trainer.step % self.every == 0:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 96)
        self.lstm = nn.LSTM(96, 96, batch_first=True, bidirectional=True)
        self.head = nn.Linear(192, 17)

    def forward(self, words):
        return self.head(self.lstm(self.embed(words))[0])


class Trainer:
    def __init__(self, model, corpus, callbacks):
        self.model, self.corpus, self.callbacks = model, corpus, callbacks
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.step, self.loss = 0, None

    def fit(self):
        while True:
            for words, tags in self.corpus.batches(32):
                self.loss = nn.functional.cross_entropy(self.model(words).flatten(0, 1), tags.flatten())
                self.optimizer.zero_grad()
                self.loss.backward()
                self.optimizer.step()
                self.step += 1
                for callback in self.callbacks:
                    callback.on_step_end(self)


Trainer(Tagger(), Corpus(), [Progress(), ReleaseMemory()]).fit()
