"""A GPT of twelve layers on texts of 512 tokens, float32, the texts drawn by a loader.

python -m benchmarks.case_study.gpt
"""

import argparse

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 50_304


class Texts(Dataset[tuple[Tensor, Tensor]]):
    """Windows of one long text of tokens."""

    def __init__(self, length: int, tokens: int = 4_000_000) -> None:
        self.tokens = torch.randint(VOCABULARY, (tokens,), generator=torch.Generator().manual_seed(0))
        self.length = length

    def __len__(self) -> int:
        return (len(self.tokens) - 1) // self.length

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        begin = index * self.length
        piece = self.tokens[begin : begin + self.length + 1]
        return piece[:-1], piece[1:]


class Block(nn.Module):
    """Causal attention and a feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the next hidden states; both are (batch, length, width)."""
        batch, length, width = hidden.shape
        three = self.queries_keys_values(self.first(hidden))
        parts = three.view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        hidden = hidden + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        deeper: Tensor = hidden + self.feed(self.second(hidden))
        return deeper


class Gpt(nn.Module):
    """A decoder with learned positions."""

    def __init__(self, layers: int, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return (batch, length, vocabulary) for (batch, length) tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        logits: Tensor = self.head(self.norm(self.blocks(self.words(tokens) + self.places(places))))
        return logits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()

    loader = DataLoader(Texts(args.length), batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = Gpt(args.layers, args.width, args.width // 64, args.length).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    step = 0
    for epoch in range(args.epochs):
        for tokens, following in loader:
            tokens, following = tokens.to(args.device), following.to(args.device)
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            step += 1
            if step % 20 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
