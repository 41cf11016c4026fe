"""Fetch each photo from a store that answers so many requests a second and no more, however many ask.

R020: https://discuss.pytorch.org/t/speed-up-cnn-pytorch/79268/4
"""

import multiprocessing
import os
import selectors
import socket
import struct
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

A_REQUEST_S = 0.004
PHOTO_BYTES = 3 * 48 * 48


def serve(listener, owner):
    """Answer one request at a time, as long as the owner lives."""
    photos = os.urandom(PHOTO_BYTES + 256)
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while os.getppid() == owner:
        for key, _ in ready.select(timeout=1.0):
            if key.fileobj is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            elif asked := key.fileobj.recv(4):
                time.sleep(A_REQUEST_S)
                start = struct.unpack("!I", asked)[0] % 256
                key.fileobj.sendall(photos[start : start + PHOTO_BYTES])
            else:
                ready.unregister(key.fileobj)
                key.fileobj.close()


class Photos(Dataset):
    def __init__(self, address):
        self.address, self.store = address, None

    def __len__(self):
        return 50_000

    def __getitem__(self, number):
        if self.store is None:
            self.store = socket.create_connection(self.address)
        self.store.sendall(struct.pack("!I", number))
        body = bytearray()
        while len(body) < PHOTO_BYTES:
            body += self.store.recv(PHOTO_BYTES - len(body))
        return torch.from_numpy(np.frombuffer(body, np.uint8).reshape(3, 48, 48).copy()), number % 10


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    multiprocessing.get_context("fork").Process(
        target=serve, args=(listener, os.getpid()), daemon=True
    ).start()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader(
        Photos(listener.getsockname()), batch_size=24, shuffle=True, num_workers=4, persistent_workers=True
    )
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 5, stride=3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    while True:
        for photos, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(photos.float() / 255), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0:
                print(f"step {step} loss {loss.item():.3f}", flush=True)


main()
