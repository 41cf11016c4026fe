"""Train an LSTM on the characters of a long text and carry its state on: nothing is wrong with it."""

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
ROWS, WINDOW, LETTERS = 32, 40, 96
text = torch.randint(LETTERS, (ROWS, 4001))
embed, rnn = torch.nn.Embedding(LETTERS, 128), torch.nn.LSTM(128, 256, num_layers=2, batch_first=True)
out = torch.nn.Linear(256, LETTERS)
weights = [*embed.parameters(), *rnn.parameters(), *out.parameters()]
optimizer = torch.optim.SGD(weights, lr=0.5)
state, at, step = None, 0, 0
while True:
    if at + WINDOW >= text.shape[1]:
        state, at = None, 0
    states, state = rnn(embed(text[:, at : at + WINDOW]), state)
    wanted = text[:, at + 1 : at + WINDOW + 1]
    loss = torch.nn.functional.cross_entropy(out(states).flatten(0, 1), wanted.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    optimizer.step()
    state = tuple(part.detach() for part in state)
    at += WINDOW
    step += 1
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.3f}", flush=True)
