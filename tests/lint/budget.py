#!/usr/bin/env python3
"""Lists what is over its budget, for reviewers. Never fails: a clear long function is better than two
that hide each other."""
import re

import sources

FILE_LINES, HEADER_LINES, FUNCTION_LINES, PARAMETERS = 350, 150, 60, 6
OPENS = re.compile(r"^[a-z].*?(\w+)\(", re.S)


def functions(text):
    """(name, first line, lines, parameters) of each function: braces stand in column 0."""
    lines, start = text.split("\n"), None
    for n, line in enumerate(lines):
        if line == "{":
            start = n
        elif line == "}" and start is not None:
            head = start - 1
            while head > 0 and lines[head - 1] and not lines[head - 1].endswith(("*/", "}", ";", "\\")) \
                    and not lines[head - 1].startswith("#"):
                head -= 1
            signature = " ".join(lines[head:start])
            found = OPENS.match(signature)
            inner = signature[signature.find("(") + 1:signature.rfind(")")]
            yield found.group(1) if found else "?", head + 1, n - start - 1, inner.count(",") + 1
            start = None


def main():
    over = []
    for name in sources.c_files():
        text = sources.read(name)
        limit = HEADER_LINES if name.endswith(".h") else FILE_LINES
        count = text.count("\n")
        if count > limit:
            over.append(f"{name}: {count} lines (aim {limit})")
        for function, line, length, parameters in functions(text):
            if length > FUNCTION_LINES:
                over.append(f"{name}:{line}: {function} has {length} lines (aim {FUNCTION_LINES})")
            if parameters > PARAMETERS:
                over.append(f"{name}:{line}: {function} takes {parameters} parameters (aim {PARAMETERS})")
    print("\n".join(over) if over else "nothing is over its budget")


if __name__ == "__main__":
    main()
