#!/usr/bin/env python3
"""Writes a C++ file with a stub for each function that lib/base/delay_load/functions.txt names: the first call loads
the library and finds the function, each later one is one jump. So a program pays for oneDNN, LAPACK, ICU and the codecs
when it uses them: their relocations take longer than everything else that happens before main.

usage: delay_load.py FUNCTIONS OUT [--folder LIBRARY=FOLDER] --compiler COMMAND...

COMMAND is the compiler's, of the machine that the library is built for."""

import argparse
import pathlib
import re
import subprocess
import sys

HEAD = '''// Written by tools/delay_load.py from {source}; change that instead.
// Each stub jumps to the address in its place: its own second part's, until panto_delay_load has found the function.
'''

# %rax is what a function of a variable number of arguments is told; %r11 belongs to nobody.
X86_64 = {
    'stub': '''  jmp *.Lpanto_place_{i}(%rip)
.Lpanto_first_{i}:
  pushq ${i}
  .cfi_adjust_cfa_offset 8
  jmp .Lpanto_find
''',
    'find': '''.Lpanto_find:
  .cfi_startproc
  .cfi_def_cfa_offset 16
{push}  subq $136, %rsp
  .cfi_adjust_cfa_offset 136
{store}  movq 192(%rsp), %rdi
  call panto_delay_load
  movq %rax, %r11
{load}  addq $136, %rsp
  .cfi_adjust_cfa_offset -136
{pop}  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  jmp *%r11
  .cfi_endproc
''',
}
AARCH64 = {
    'stub': '''  adrp x16, .Lpanto_place_{i}
  ldr x16, [x16, #:lo12:.Lpanto_place_{i}]
  br x16
.Lpanto_first_{i}:
  mov w17, #{i}
  b .Lpanto_find
''',
    'find': '''.Lpanto_find:
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset 29, -224
  .cfi_offset 30, -216
{store}  mov w0, w17
  bl panto_delay_load
  mov x16, x0
{load}  ldp x29, x30, [sp], #224
  .cfi_restore 30
  .cfi_restore 29
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
''',
}


def x86_64_find():
    words = ['rdi', 'rsi', 'rdx', 'rcx', 'r8', 'r9', 'rax']
    floats = range(8)
    return X86_64['find'].format(
        push=''.join(f'  pushq %{r}\n  .cfi_adjust_cfa_offset 8\n' for r in words),
        pop=''.join(f'  popq %{r}\n  .cfi_adjust_cfa_offset -8\n' for r in reversed(words)),
        store=''.join(f'  movups %xmm{n}, {16 * n}(%rsp)\n' for n in floats),
        load=''.join(f'  movups {16 * n}(%rsp), %xmm{n}\n' for n in floats))


def aarch64_find():
    # x8 is where a result in memory goes.
    pairs = [(f'x{n}', f'x{n + 1}', 16 + 8 * n) for n in range(0, 8, 2)]
    pairs += [(f'q{n}', f'q{n + 1}', 96 + 16 * n) for n in range(0, 8, 2)]
    one = [('x8', 80)]
    return AARCH64['find'].format(
        store=''.join(f'  stp {a}, {b}, [sp, #{at}]\n' for a, b, at in pairs) +
        ''.join(f'  str {a}, [sp, #{at}]\n' for a, at in one),
        load=''.join(f'  ldp {a}, {b}, [sp, #{at}]\n' for a, b, at in pairs) +
        ''.join(f'  ldr {a}, [sp, #{at}]\n' for a, at in one))


def soname(compiler, name, folder):
    """Of lib<name>.so, as programs that are linked with it have it."""
    file = f'lib{name}.so'
    asked = subprocess.run(compiler + [f'-print-file-name={file}'], capture_output=True, text=True, check=True).stdout
    path = pathlib.Path(folder) / file if folder else pathlib.Path(asked.strip())
    if not path.exists():
        sys.exit(f'delay_load: expected {file}, which the compiler does not find')
    found = re.search(r'SONAME.*\[(.*)\]',
                      subprocess.run(['readelf', '-d', path], capture_output=True, text=True, check=True).stdout)
    if found is None:
        sys.exit(f'delay_load: expected a shared library with a soname, got {path}')
    return found.group(1)


def read(source, compiler, folders):
    """[(soname, [function])]"""
    libraries = []
    suffix = ''
    for line in source.read_text().splitlines():
        if not line or line.startswith('#'):
            continue
        section = re.fullmatch(r'\[(\w+)( versioned)?\]', line)
        if section:
            name = soname(compiler, section.group(1), folders.get(section.group(1)))
            suffix = '_' + name.split('.so.')[1].split('.')[0] if section.group(2) else ''
            libraries.append((name, []))
        elif re.fullmatch(r'\w+', line) and libraries:
            libraries[-1][1].append(line + suffix)
        else:
            sys.exit(f'delay_load: expected "[library]" or a function, got "{line}"')
    return libraries


def write(source, libraries, machine):
    stubs, places, names = [], [], []
    stub, find = (X86_64['stub'], x86_64_find()) if machine == 'x86_64' else (AARCH64['stub'], aarch64_find())
    for library, functions in libraries:
        for function in functions:
            i = len(names)
            names.append(f'    {{"{library}", "{function}"}},\n')
            stubs.append(f'  .globl {function}\n  .hidden {function}\n  .type {function}, %function\n  .p2align 4\n'
                         f'{function}:\n  .cfi_startproc\n' + stub.format(i=i) +
                         f'  .cfi_endproc\n  .size {function}, . - {function}\n')
            places.append(f'.Lpanto_place_{i}:\n  .quad .Lpanto_first_{i}\n')
    return (HEAD.format(source=source.name) + '#include "panto/lib/base/delay_load/delay_load.h"\n\n'
            'namespace panto {\n'
            f'const DelayLoaded delay_loaded[{len(names)}] = {{\n' + ''.join(names) + '};\n'
            f'const size_t num_delay_loaded = {len(names)};\n'
            '}  // namespace panto\n\n'
            'asm(R"asm(\n  .text\n' + find + ''.join(stubs) +
            '  .data\n  .p2align 3\n  .globl panto_delay_load_places\n  .hidden panto_delay_load_places\n'
            'panto_delay_load_places:\n' + ''.join(places) + '  .text\n)asm");\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('functions', type=pathlib.Path)
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--folder', action='append', default=[], metavar='LIBRARY=FOLDER')
    parser.add_argument('--compiler', nargs=argparse.REMAINDER, required=True)  # options, too: --sysroot
    given = parser.parse_args()
    machine = subprocess.run(given.compiler + ['-dumpmachine'], capture_output=True, text=True,
                             check=True).stdout.split('-')[0]
    if machine not in ('x86_64', 'aarch64'):
        sys.exit(f'delay_load: expected x86_64 or aarch64, got {machine}')
    libraries = read(given.functions, given.compiler, dict(f.split('=', 1) for f in given.folder))
    given.out.write_text(write(given.functions, libraries, machine))


if __name__ == '__main__':
    main()
