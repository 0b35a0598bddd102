#include "launcher/core/completion_render.h"

#include "base/str.h"
#include "launcher/core/command_page.h"

static const char head[] =
    "# Completion of muster for fish, as `muster completion fish` prints it.\n"
    "\n"
    "# __muster_takes COMMAND: its options that have a value behind them.\n"
    "function __muster_takes\n"
    "    switch $argv[1]\n";

static const char body[] =
    "    end\n"
    "end\n"
    "\n"
    "# The command of the line, then what follows its options: a program and its arguments.\n"
    "function __muster_line\n"
    "    set -l words (commandline -opc)\n"
    "    set -l command run\n"
    "    if string match -q -- '*torchrun' $words[1]\n"
    "        set command torchrun\n"
    "    else if set -q words[2]; and not string match -q -- '-*' $words[2]\n"
    "        set command $words[2]\n"
    "        set -e words[1]\n"
    "    end\n"
    "    set -e words[1]\n"
    "    set -l takes (__muster_takes $command)\n"
    "    while set -q words[1]; and string match -q -- '-?*' $words[1]\n"
    "        set -l option (string replace -a _ - -- $words[1])\n"
    "        set -e words[1]\n"
    "        if test \"$option\" = --\n"
    "            break\n"
    "        else if contains -- $option $takes; and set -q words[1]\n"
    "            set -e words[1]\n"
    "        end\n"
    "    end\n"
    "    printf '%s\\n' $command $words\n"
    "end\n"
    "\n"
    "# No word yet.\n"
    "function __muster_begins\n"
    "    set -l words (commandline -opc)\n"
    "    not set -q words[2]; and not string match -q -- '*torchrun' $words[1]\n"
    "end\n"
    "\n"
    "# The line is of one of these commands, and its program has not been named.\n"
    "function __muster_is\n"
    "    set -l line (__muster_line)\n"
    "    contains -- $line[1] $argv; and not set -q line[2]\n"
    "end\n"
    "\n"
    "# There is a program; what it completes itself.\n"
    "function __muster_has_program\n"
    "    set -l line (__muster_line)\n"
    "    contains -- $line[1] $__muster_programs; and set -q line[2]\n"
    "end\n"
    "function __muster_of_program\n"
    "    set -l line (__muster_line)\n"
    "    complete -C (string join ' ' -- (string escape -- $line[2..-1]) (commandline -ct))\n"
    "end\n"
    "\n"
    "complete -c muster -c muster-torchrun -n __muster_has_program -a '(__muster_of_program)'\n"
    "complete -c muster -c muster-torchrun -n '__muster_is $__muster_programs' -a "
    "'(__fish_complete_command)'\n";

static void add_quoted(struct str text, struct buf *out)
{
    buf_addc(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'' || text.p[i] == '\\')
            buf_addc(out, '\\');
        buf_addc(out, text.p[i]);
    }
    buf_addc(out, '\'');
}

static void add_takes(const struct command_page *page, struct buf *out)
{
    struct option_face face;
    if (!page->option)
        return;
    buf_addf(out, "        case %s\n            string split ' ' -- '", page->name);
    for (size_t i = 0; page->option(i, &face); i++) {
        if (!face.metavar)
            continue;
        if (face.letter)
            buf_addf(out, "-%c ", face.letter);
        buf_addf(out, "--%s ", face.name);
    }
    buf_adds(out, "'\n");
}

static void add_value(const struct option_face *face, struct buf *out)
{
    static const char *const offers[] = {
        [OFFER_NOTHING] = " -x",
        [OFFER_FILES] = " -r -F",
        [OFFER_FOLDERS] = " -x -a '(__fish_complete_directories)'",
        [OFFER_PROGRAMS] = " -x -a '(__fish_complete_command)'"};
    struct str rest = option_face_words(face), word;
    if (!rest.n) {
        buf_adds(out, offers[face->offer]);
        return;
    }
    for (const char *before = " -x -a '"; option_face_word(&rest, &word); before = " ")
        buf_addf(out, "%s%.*s", before, STR_ARG(word));
    buf_addc(out, '\'');
}

static void begin(const char *condition, const char *command, struct buf *out)
{
    buf_addf(out, "complete -c muster -c muster-torchrun -n '%s%s%s'", condition,
             command ? " " : "", command ? command : "");
}

static void add_options(const struct command_page *page, struct buf *out)
{
    struct option_face face;
    for (size_t i = 0; page->option && page->option(i, &face); i++) {
        begin("__muster_is", page->name, out);
        if (face.letter)
            buf_addf(out, " -s %c", face.letter);
        buf_addf(out, " -l %s", face.name);
        if (face.metavar)
            add_value(&face, out);
        buf_adds(out, " -d ");
        add_quoted(option_face_brief(&face), out);
        buf_addc(out, '\n');
    }
}

static void add_command(const struct command_page *page, struct buf *out)
{
    begin("__muster_begins", NULL, out);
    buf_addf(out, " -a %s -d ", page->name);
    add_quoted(str_from(page->summary), out);
    buf_addc(out, '\n');
    if (page->has_program)
        return;
    begin("__muster_is", page->name, out);
    buf_adds(out, " -f");
    if (page->words) {
        buf_adds(out, " -a ");
        add_quoted(str_from(page->words), out);
    }
    buf_addc(out, '\n');
}

void completion_fish(struct buf *out)
{
    buf_adds(out, head);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_takes(command_page((enum command_id)i), out);
    buf_adds(out, body);
    buf_adds(out, "set -g __muster_programs");
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (command_page((enum command_id)i)->has_program)
            buf_addf(out, " %s", command_page((enum command_id)i)->name);
    buf_addc(out, '\n');
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_command(command_page((enum command_id)i), out);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_options(command_page((enum command_id)i), out);
}
