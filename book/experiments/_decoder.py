"""What two experiments share: a small decoder of characters with its norms in one of two places, and a text for it.

"post" normalizes behind each sum, x = LN(x + F(x)); "pre" inside the branch, x = x + F(LN(x)), and once at the end.
The text is the manual that Python carries with it, so that nothing is downloaded; it differs between versions of
Python, and a record says which it was. It holds no experiment.
"""

from __future__ import annotations

from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from torch import Tensor, nn

torch.set_num_threads(1)


def characters() -> Tensor:
    """Return the text as numbers of its distinct characters, (length,)."""
    text = "\n".join(topics[name] for name in sorted(topics))
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    return torch.tensor([number[character] for character in text])


def windows(text: Tensor, count: int, length: int) -> tuple[Tensor, Tensor]:
    """Return random pieces of the text (count, length), and the same pieces one character on."""
    starts = torch.randint(len(text) - length - 1, (count, 1)) + torch.arange(length)
    return text[starts], text[starts + 1]


class Block(nn.Module):
    """Attention and a two-layer perceptron, each on a skip path with a layer norm."""

    def __init__(self, kind: str, width: int, heads: int) -> None:
        super().__init__()
        self.pre, self.heads = kind == "pre", heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        for linear in (self.query, self.key, self.value, self.out, self.up, self.down):
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)

    def attend(self, x: Tensor) -> Tensor:
        """Return causal attention of x (N, L, C) to itself."""
        q, k, v = (m(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for m in (self.query, self.key, self.value))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (N, heads, L, C / heads)
        return self.out(seen.transpose(1, 2).flatten(2))

    def feed(self, x: Tensor) -> Tensor:
        """Return the perceptron's output for each token of x (N, L, C)."""
        return self.down(self.up(x).relu())

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream behind both sublayers, (N, L, C)."""
        for branch, norm in zip((self.attend, self.feed), self.norms, strict=True):
            x = x + branch(norm(x)) if self.pre else norm(x + branch(x))
        return x


class Decoder(nn.Module):
    """Embeddings whose sum has variance 1, `depth` blocks, a last norm if they are "pre", a linear read-out."""

    def __init__(self, kind: str, depth: int, kinds_of_character: int, length: int, width: int, heads: int) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(kinds_of_character, width), nn.Embedding(length, width)
        for table in (self.token, self.place):
            nn.init.normal_(table.weight, std=0.5**0.5)
        self.blocks = nn.ModuleList(Block(kind, width, heads) for _ in range(depth))
        self.last = nn.LayerNorm(width) if kind == "pre" else nn.Identity()
        self.read_out = nn.Linear(width, kinds_of_character)
        nn.init.xavier_normal_(self.read_out.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of the next character (N, L, characters) for characters x (N, L)."""
        h = self.token(x) + self.place.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return self.read_out(self.last(h))


def loss_of(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross entropy in nats a character."""
    return F.cross_entropy(net(x).flatten(0, 1), y.flatten())
