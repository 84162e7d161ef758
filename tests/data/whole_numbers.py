#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells which texts are whole numbers of int64, by Python's decimal, which goes by the digits.

    whole_numbers.py FILE        FILE: one text on each line

Prints a line for each: the number, "fraction" if it has one, or "beyond" if int64 does not hold it.
"""
import decimal
import sys

INT64 = range(-2**63, 2**63)
decimal.setcontext(decimal.Context(prec=2000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN))


def answer(text):
    number = decimal.Decimal(text)
    if number.is_zero():
        return "0"
    if number.adjusted() < 0:
        return "fraction"
    if number.normalize().as_tuple().exponent < 0:
        return "fraction"
    if number.adjusted() > 20:
        return "beyond"
    return str(int(number)) if int(number) in INT64 else "beyond"


with open(sys.argv[1], encoding="ascii") as file:
    for line in file:
        print(answer(line.strip()))
