"""What the LOAD and SAVE instructions of a DPUCZDX8G (ISA1) program move between DDR and the DPU (board.md 2.8)."""

from __future__ import annotations

import sys
from array import array

LOAD, SAVE = 0x0, 0x4
WORDS = {LOAD: 5, SAVE: 5, 0x1: 6, 0x2: 5, 0x6: 2, 0x7: 1, 0x8: 5, 0x9: 4, 0xA: 5, 0xB: 3, 0xC: 5, 0xD: 3, 0xE: 3}
"""Opcode (top four bits of an instruction's first word) to the number of 32-bit words."""

SAVE_REGISTERS = 8
"""`transferred_bytes` indexes loads of register r by r, saves to it by SAVE_REGISTERS + r."""


def transferred_bytes(code: bytes | memoryview) -> list[int]:
    """Bytes loaded from (0 to 7) and saved to (8 to 15) each of the eight base-address registers.

    ValueError, naming the word, on an unknown opcode or a program that ends inside an instruction.
    """
    if len(code) % 4:
        raise ValueError(f"{len(code)} bytes are no whole number of 32-bit words")
    words = array("I", bytes(code))
    if sys.byteorder == "big":
        words.byteswap()
    total = [0] * (2 * SAVE_REGISTERS)
    index, end = 0, len(words)
    while index < end:
        opcode = words[index] >> 28
        length = WORDS.get(opcode)
        if length is None:
            raise ValueError(f"word {index} has the unknown opcode {opcode:#x}")
        if index + length > end:
            raise ValueError(f"the program ends inside the instruction at word {index}")
        if opcode == LOAD:
            shape = words[index + 2]
            total[words[index + 3] & 7] += ((shape & 0x3FF) + 1) * ((shape >> 10 & 0x3FFF) + 1)
        elif opcode == SAVE:
            shape = words[index + 2]
            total[SAVE_REGISTERS + (words[index + 3] & 7)] += ((shape & 0x3FF) + 1) * ((shape >> 10 & 0xFFF) + 1)
        index += length
    return total
