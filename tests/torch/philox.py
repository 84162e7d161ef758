# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 in numpy, and the keys that Shoal makes with it (shoal/base/random.h, random_sequence() of shoal/graph/op.h).

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""
import numpy

MULTIPLIERS = (numpy.uint64(0xD2511F53), numpy.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = numpy.uint64(0xFFFFFFFF)
HALF = numpy.uint64(32)
FOLD_NUMBER = 0x666F6C642F6E756D  # "fold/num"


def blocks(key, first, count, counter_high=0):
    """Blocks `first` to `first + count` of the sequence `key`: uint32 [count, 4]."""
    counter = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(first)
    words = [counter & LOW, counter >> HALF, numpy.full(count, counter_high & 0xFFFFFFFF, numpy.uint64),
             numpy.full(count, counter_high >> 32, numpy.uint64)]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        products = (MULTIPLIERS[0] * words[0], MULTIPLIERS[1] * words[2])
        words = [(products[1] >> HALF) ^ words[1] ^ numpy.uint64(keys[0]), products[1] & LOW,
                 (products[0] >> HALF) ^ words[3] ^ numpy.uint64(keys[1]), products[0] & LOW]
        keys = [(key + weyl) & 0xFFFFFFFF for key, weyl in zip(keys, WEYL)]
    return numpy.stack(words, axis=1).astype(numpy.uint32)


def numbers(key, count):
    """The first `count` 32-bit numbers of the sequence `key`."""
    return blocks(key, 0, (count + 3) // 4).reshape(-1)[:count]


def fold_in(key, part):
    words = blocks(key, part, 1, FOLD_NUMBER)[0]
    return int(words[0]) | int(words[1]) << 32


def random_sequence(graph_seed, node_key, trainer, ordinal):
    """The key of the random numbers of one node in one step."""
    return fold_in(fold_in(fold_in(graph_seed, node_key % 2**64), trainer), ordinal)
