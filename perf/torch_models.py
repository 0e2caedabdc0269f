# SPDX-License-Identifier: MIT
"""ring_train's models as PyTorch modules, and the file with which both begin.

The modules compute what train/model/mlp.c and train/model/gpt.c compute. Parameters are matched by the trainer's
names, so a tensor that one side lacks is an error.
"""

import json

import numpy
import torch
from torch import nn
from torch.nn import functional as F


class Beginning:
    """What ring_train --export wrote: a line of JSON, then the arrays that it lists."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.facts = json.loads(file.readline())
            start = file.tell()
        if self.facts["format"] != 1:
            raise SystemExit(f"{path}: format {self.facts['format']} is not known here")
        memory = numpy.memmap(path, mode="r", offset=start)
        self.arrays = {
            array["name"]: numpy.ndarray(array["shape"], array["type"], memory, array["offset"])
            for array in self.facts["arrays"]
        }

    def parameters(self):
        """Name and values of each, in the order in which backward finishes them."""
        names = [array["name"] for array in self.facts["arrays"][: self.facts["parameters"]]]
        return {name: torch.from_numpy(self.arrays[name].copy()) for name in names}

    def bucket_bytes(self):
        """The sizes of the buckets: each is closed by the tensor that reaches its cap."""
        sizes, cap = [0], self.facts["first_bucket_bytes"]
        for values in self.parameters().values():
            if sizes[-1] >= cap:
                sizes, cap = sizes + [0], self.facts["bucket_bytes"]
            sizes[-1] += values.numel() * values.element_size()
        return sizes


def activation_of(shape):
    return F.relu if shape["activation"] == "relu" else F.gelu


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        widths = [shape["inputs"]] + [shape["width"]] * (shape["layers"] - 1) + [shape["outputs"]]
        self.layers = nn.ModuleList(map(nn.Linear, widths, widths[1:]))
        self.activation = activation_of(shape)

    def forward(self, features):
        for layer in self.layers[:-1]:
            features = self.activation(layer(features))
        return self.layers[-1](features)


class Norm(nn.Module):
    """LayerNorm with an optional bias, which older versions of torch.nn.LayerNorm do not have."""

    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape["width"]))
        self.bias = nn.Parameter(torch.zeros(shape["width"])) if shape["biases"] else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


def attend(query, key, value, future):
    """Attention of [.., context, size] each; `future` masks later positions."""
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ value


class Head(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.key = nn.Linear(width, size, bias=False)
        self.query = nn.Linear(width, size, bias=False)
        self.value = nn.Linear(width, size, bias=False)

    def forward(self, x, future):
        return attend(self.query(x), self.key(x), self.value(x), future)


class SplitAttention(nn.ModuleList):
    """Each head has its own tensors."""

    def __init__(self, shape):
        size = shape["width"] // shape["heads"]
        super().__init__(Head(shape["width"], size) for _ in range(shape["heads"]))

    def forward(self, x, future):
        return torch.cat([head(x, future) for head in self], dim=-1)


class JoinedAttention(nn.Linear):
    """One matrix for the queries, keys and values of all heads."""

    def __init__(self, shape):
        super().__init__(shape["width"], 3 * shape["width"], bias=shape["biases"])
        self.heads = shape["heads"]

    def forward(self, x, future):
        rows, context, width = x.shape
        parts = super().forward(x).view(rows, context, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        return attend(query, key, value, future).transpose(1, 2).reshape(rows, context, width)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, biases = shape["width"], shape["biases"]
        self.norm1, self.norm2 = Norm(shape), Norm(shape)
        self.attention = (SplitAttention if shape["split_heads"] else JoinedAttention)(shape)
        self.projection = nn.Linear(width, width, bias=biases)
        self.up = nn.Linear(width, 4 * width, bias=biases)
        self.down = nn.Linear(4 * width, width, bias=biases)
        self.activation = activation_of(shape)

    def forward(self, x, future):
        x = x + self.projection(self.attention(self.norm1(x), future))
        return x + self.down(self.activation(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, shape):
        super().__init__()
        if shape["dropout"] > 0:
            raise SystemExit("dropout differs between the trainer and torch: use a preset without it")
        width, context, vocabulary = shape["width"], shape["context"], shape["vocabulary"]
        self.tokens = nn.Parameter(torch.empty(vocabulary, width))
        self.positions = nn.Parameter(torch.empty(context, width))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.final_norm = Norm(shape)
        if not shape["tied"]:
            self.head = nn.Linear(width, vocabulary, bias=shape["biases"])
        self.tied = shape["tied"]
        # Not a buffer: DistributedDataParallel would broadcast it in every step.
        self.future = torch.ones(context, context, dtype=torch.bool).triu(1)

    def forward(self, tokens):
        x = F.embedding(tokens, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x, self.future)
        x = self.final_norm(x)
        return F.linear(x, self.tokens) if self.tied else self.head(x)


OUR_WORDS = {
    "layers": "layer",
    "blocks": "block",
    "norm1": "norm 1",
    "norm2": "norm 2",
    "final_norm": "final norm",
    "up": "feed-forward 1",
    "down": "feed-forward 2",
    "tokens": "token embedding",
    "positions": "position embedding",
}


def our_name(name, split_heads):
    """The trainer's name of a parameter: blocks.0.norm1.weight is "block 0 norm 1 weight"."""
    words = {**OUR_WORDS, "attention": "head"} if split_heads else OUR_WORDS
    return " ".join(words.get(word, word) for word in name.split("."))


def make_model(beginning):
    """The model with the parameters that ring_train begins with."""
    shape = beginning.facts["shape"]
    model = (Mlp if shape["kind"] == "mlp" else Gpt)(shape)
    ours = beginning.parameters()
    for name, parameter in model.named_parameters():
        parameter.data = ours.pop(our_name(name, shape["split_heads"]))
    if ours:
        raise SystemExit(f"the modules lack these parameters: {', '.join(ours)}")
    return model
