"""Learn from replayed frames that are kept packed; each batch is drawn, unpacked and stacked between two updates."""

import collections
import io
import random

import numpy as np
import torch
from PIL import Image

torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)
Moment = collections.namedtuple("Moment", "frames action reward following")


def packed(frame):
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "PNG")
    return file.getvalue()


def unpacked(frame):
    return np.asarray(Image.open(io.BytesIO(frame)))


class Game:
    """A ball that moves over a grey field."""

    def __init__(self):
        self.place, self.field = 0, np.random.default_rng(0).integers(0, 40, (84, 84), dtype=np.uint8)

    def play(self, action):
        self.place = (self.place + 2 * action + 1) % 76
        frame = self.field.copy()
        frame[self.place : self.place + 8, 38:46] = 255
        return packed(frame), float(self.place < 8)


class Replay:
    def __init__(self, size):
        self.moments = collections.deque(maxlen=size)

    def draw(self, count):
        chosen = random.sample(self.moments, count)
        now = np.stack([np.stack([unpacked(frame) for frame in moment.frames]) for moment in chosen])
        then = np.stack([np.stack([unpacked(frame) for frame in moment.following]) for moment in chosen])
        actions, rewards = zip(*[(moment.action, moment.reward) for moment in chosen])
        return torch.from_numpy(now), torch.tensor(actions), torch.tensor(rewards), torch.from_numpy(then)


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(4, 16, 8, stride=8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(1600, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 3),
    )


game, replay = Game(), Replay(5000)
policy, target = network(), network()
optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-4)
seen = collections.deque([game.play(0)[0]] * 4, maxlen=4)
for _ in range(1000):
    before, action = tuple(seen), random.randrange(3)
    frame, reward = game.play(action)
    seen.append(frame)
    replay.moments.append(Moment(before, action, reward, tuple(seen)))
step = 0
while True:
    before, action = tuple(seen), random.randrange(3)
    frame, reward = game.play(action)
    seen.append(frame)
    replay.moments.append(Moment(before, action, reward, tuple(seen)))
    now, actions, rewards, then = replay.draw(64)
    with torch.no_grad():
        worth = rewards + 0.99 * target(then[:, :, ::1].float() / 255).amax(1)
    guess = policy(now.float() / 255).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = torch.nn.functional.smooth_l1_loss(guess, worth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if step % 200 == 0:
        target.load_state_dict(policy.state_dict())
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
