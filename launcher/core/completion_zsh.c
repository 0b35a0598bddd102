#include "launcher/core/completion_render.h"

#include "base/str.h"
#include "launcher/core/command_page.h"

static const char head[] =
    "#compdef muster muster-torchrun\n"
    "# Completion of muster for zsh, as `muster completion zsh` prints it.\n"
    "\n"
    "_muster_program() {\n"
    "  _alternative 'commands:program:_command_names -e' 'files:program:_files'\n"
    "}\n"
    "\n";

static const char body[] =
    "_muster() {\n"
    "  local curcontext=$curcontext command=run\n"
    "  if [[ ${words[1]:t} == *torchrun ]]; then\n"
    "    command=torchrun\n"
    "  elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
    "    _muster_commands\n"
    "    return\n"
    "  elif [[ $words[2] != -* ]]; then\n"
    "    command=$words[2]\n"
    "    shift words\n"
    "    (( CURRENT-- ))\n"
    "  fi\n"
    "  (( $+functions[_muster_$command] )) && _muster_$command\n"
    "}\n"
    "\n"
    "# A file of $fpath is this function itself; sourced, it has to be told of.\n"
    "if [[ $funcstack[1] == _muster ]]; then\n"
    "  _muster \"$@\"\n"
    "else\n"
    "  compdef _muster muster muster-torchrun\n"
    "fi\n";

/* Within '...' of the shell, and there in [...] or before a colon of _arguments. */
static void add_text(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\'')
            buf_adds(out, "'\\''");
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            buf_addf(out, "\\%c", c);
        else
            buf_addc(out, c);
    }
}

static void add_names(const struct option_face *face, struct buf *out)
{
    const char *attached = face->metavar ? "+" : "", *equals = face->metavar ? "=" : "";
    if (face->is_repeated)
        buf_adds(out, "'*'");
    else if (face->letter)
        buf_addf(out, "'(-%c --%s)'", face->letter, face->name);
    if (face->letter)
        buf_addf(out, "{-%c%s,--%s%s}", face->letter, attached, face->name, equals);
    else
        buf_addf(out, "--%s%s", face->name, equals);
}

static void add_value(const struct option_face *face, struct buf *out)
{
    static const char *const offers[] = {[OFFER_NOTHING] = " ",
                                         [OFFER_FILES] = "_files",
                                         [OFFER_FOLDERS] = "_files -/",
                                         [OFFER_PROGRAMS] = "_command_names -e"};
    struct str rest = option_face_words(face), word;
    buf_addc(out, ':');
    add_text(str_from(face->metavar), out);
    buf_addc(out, ':');
    if (!rest.n) {
        buf_adds(out, offers[face->offer]);
        return;
    }
    for (char before = '('; option_face_word(&rest, &word); before = ' ') {
        buf_addc(out, before);
        add_text(word, out);
    }
    buf_addc(out, ')');
}

static void add_option(const struct option_face *face, struct buf *out)
{
    buf_adds(out, " \\\n    ");
    add_names(face, out);
    buf_adds(out, "'[");
    add_text(option_face_brief(face), out);
    buf_addc(out, ']');
    if (face->metavar)
        add_value(face, out);
    buf_addc(out, '\'');
}

static void add_command(const struct command_page *page, struct buf *out)
{
    struct option_face face;
    buf_addf(out, "_muster_%s() {\n  _arguments -s -S%s :", page->name,
             page->has_program ? " -A '-*'" : "");
    for (size_t i = 0; page->option && page->option(i, &face); i++)
        add_option(&face, out);
    if (page->has_program)
        buf_adds(out, " \\\n    '(-)1:program:_muster_program' '*::arguments: _normal'");
    else if (page->words)
        buf_addf(out, " \\\n    '*::words:(%s)'", page->words);
    buf_adds(out, "\n}\n\n");
}

static void add_commands(struct buf *out)
{
    buf_adds(out, "_muster_commands() {\n  local -a commands=(\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        const struct command_page *page = command_page((enum command_id)i);
        buf_addf(out, "    '%s:", page->name);
        add_text(str_from(page->summary), out);
        buf_adds(out, "'\n");
    }
    buf_adds(out, "  )\n  _describe -t commands command commands\n}\n\n");
}

void completion_zsh(struct buf *out)
{
    buf_adds(out, head);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_command(command_page((enum command_id)i), out);
    add_commands(out);
    buf_adds(out, body);
}
