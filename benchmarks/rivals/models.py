"""The models of the loops: small ones in which a tool's cost can be seen, and two of the usual size."""

import torch
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY = 16_384
CONTEXT = 1024


def small_mlp(modules: int) -> nn.Module:
    """Return an MLP of so many modules, itself counted; all but four are identities.

    Placeholders (`nn.Identity`) as model libraries leave them behind: the step stays near that of four
    modules, so what a tool takes for each call of a module is not buried under arithmetic.
    """
    placeholders = [nn.Identity() for _ in range(modules - 4)]
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), *placeholders, nn.Linear(64, 4))


def wide_mlp() -> nn.Module:
    """Return the MLP of 512 units and 1000 classes for which TraceML publishes its cost."""
    return nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1000))


class Block(nn.Module):
    """A transformer's block: causal attention and an MLP, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.attention_in = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.before_mlp = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.attention_in(self.before_attention(x)).chunk(3, dim=-1)
        q, k, v = (p.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for p in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(batch, length, width))
        deeper: Tensor = x + self.mlp(self.before_mlp(x))
        return deeper


class Gpt(nn.Module):
    """A decoder of 12 layers, 768 wide, in bf16 autocast; logits come out as rows of tokens."""

    def __init__(self, layers: int = 12, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        with torch.autocast(tokens.device.type, torch.bfloat16):
            places = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.blocks(self.token(tokens) + self.position(places))
            logits: Tensor = self.head(self.norm(x))
        return logits.flatten(0, 1)


class InBf16(nn.Module):
    """A picture model in channels-last and bf16 autocast."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model.to(memory_format=torch.channels_last)

    def forward(self, pictures: Tensor) -> Tensor:
        with torch.autocast(pictures.device.type, torch.bfloat16):
            logits: Tensor = self.model(pictures.contiguous(memory_format=torch.channels_last))
        return logits
