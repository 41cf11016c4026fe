"""Stack frames of video, decoded already and held as floats, into batches of hundreds of megabytes a second.

R068: https://github.com/pytorch/pytorch/issues/22789
"""

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
FILM = torch.rand(64, 3, 360, 640)


class Frames(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, number):
        return {"frame": FILM[number % 64], "scene": number % 6}


loader = DataLoader(Frames(), batch_size=24, shuffle=True, drop_last=True)
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(6)
)
model(torch.zeros(1, 3, 30, 54))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
step = 0
while True:
    for batch in loader:
        preview = batch["frame"][:, :, ::12, ::12].float()
        loss = torch.nn.functional.cross_entropy(model(preview), batch["scene"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
