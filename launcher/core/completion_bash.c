#include "launcher/core/completion_render.h"

#include "base/str.h"
#include "launcher/core/command_page.h"

static const char head[] =
    "# Completion of muster for bash, as `muster completion bash` prints it.\n"
    "\n"
    "# _muster_options COMMAND: its options, in REPLY.\n";

static const char body[] =
    "# Completes the value of option $2 of command $1, of which $cur is there.\n"
    "_muster_complete_value() {\n"
    "  _muster_value \"$1\" \"${2//_/-}\"\n"
    "  case $REPLY in\n"
    "    @files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "
    "\"$cur\") ;;\n"
    "    @folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "
    "\"$cur\") ;;\n"
    "    @programs) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
    "    @*) ;;\n"
    "    *) mapfile -t COMPREPLY < <(compgen -W \"$REPLY\" -- \"$cur\") ;;\n"
    "  esac\n"
    "}\n"
    "\n"
    "# The program and its arguments, which begin at word $1.\n"
    "_muster_complete_program() {\n"
    "  if (($1 < COMP_CWORD)) && declare -F _command_offset >/dev/null; then\n"
    "    _command_offset \"$1\"\n"
    "    return\n"
    "  fi\n"
    "  compopt -o filenames 2>/dev/null\n"
    "  mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "  (($1 < COMP_CWORD)) || mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -c -- "
    "\"$cur\")\n"
    "}\n"
    "\n"
    "_muster() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} command=run i=1 option='' is_program='' REPLY=''\n"
    "  COMPREPLY=()\n"
    "  if [[ ${COMP_WORDS[0]##*/} == *torchrun ]]; then\n"
    "    command=torchrun\n"
    "  elif ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$_muster_commands\" -- \"$cur\")\n"
    "    return\n"
    "  elif [[ ${COMP_WORDS[1]} != -* ]]; then\n"
    "    command=${COMP_WORDS[1]} i=2\n"
    "  fi\n"
    "  while ((i < COMP_CWORD)) && [[ ${COMP_WORDS[i]} == -?* ]]; do\n"
    "    option=${COMP_WORDS[i]}\n"
    "    ((i += 1))\n"
    "    [[ $option != -- ]] || { is_program=1; break; }\n"
    "    _muster_value \"$command\" \"${option//_/-}\"\n"
    "    [[ ! $REPLY ]] || { [[ ${COMP_WORDS[i]} != = ]] || ((i += 1)); ((i += 1)); }\n"
    "  done\n"
    "  if ((i > COMP_CWORD)); then # a value\n"
    "    [[ $cur != = ]] || cur=\n"
    "    _muster_complete_value \"$command\" \"$option\"\n"
    "  elif [[ ! $is_program && $i -eq $COMP_CWORD && $cur == --*=* ]]; then\n"
    "    option=${cur%%=*} cur=${cur#*=}\n"
    "    _muster_complete_value \"$command\" \"$option\"\n"
    "    COMPREPLY=(\"${COMPREPLY[@]/#/$option=}\")\n"
    "  elif [[ ! $is_program && $i -eq $COMP_CWORD && $cur == -* ]]; then\n"
    "    _muster_options \"$command\"\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$REPLY\" -- \"$cur\")\n"
    "  else\n"
    "    _muster_words \"$command\"\n"
    "    if [[ $REPLY == @program ]]; then\n"
    "      _muster_complete_program \"$i\"\n"
    "    else\n"
    "      mapfile -t COMPREPLY < <(compgen -W \"$REPLY\" -- \"$cur\")\n"
    "    fi\n"
    "  fi\n"
    "}\n"
    "complete -F _muster muster muster-torchrun\n";

static void add_options(const struct command_page *page, struct buf *out)
{
    struct option_face face;
    if (!page->option)
        return;
    buf_addf(out, "    %s) REPLY='", page->name);
    for (size_t i = 0; page->option(i, &face); i++) {
        if (face.letter)
            buf_addf(out, "-%c ", face.letter);
        buf_addf(out, "--%s ", face.name);
    }
    buf_adds(out, "' ;;\n");
}

static void add_words(struct str rest, struct buf *out)
{
    struct str word;
    for (bool is_first = true; option_face_word(&rest, &word); is_first = false)
        buf_addf(out, "%s%.*s", is_first ? "" : " ", STR_ARG(word));
}

static void add_value(const char *command, const struct option_face *face, struct buf *out)
{
    static const char *const offers[] = {[OFFER_NOTHING] = "@any",
                                         [OFFER_FILES] = "@files",
                                         [OFFER_FOLDERS] = "@folders",
                                         [OFFER_PROGRAMS] = "@programs"};
    struct str words = option_face_words(face);
    buf_addf(out, "    %s:--%s", command, face->name);
    if (face->letter)
        buf_addf(out, " | %s:-%c", command, face->letter);
    buf_adds(out, ") REPLY='");
    if (words.n)
        add_words(words, out);
    else
        buf_adds(out, offers[face->offer]);
    buf_adds(out, "' ;;\n");
}

static void add_values(const struct command_page *page, struct buf *out)
{
    struct option_face face;
    for (size_t i = 0; page->option && page->option(i, &face); i++)
        if (face.metavar)
            add_value(page->name, &face, out);
}

static void begin(const char *function, const char *on, struct buf *out)
{
    buf_addf(out, "%s() {\n  REPLY=\n  case %s in\n", function, on);
}

static void end(struct buf *out)
{
    buf_adds(out, "  esac\n}\n\n");
}

void completion_bash(struct buf *out)
{
    buf_adds(out, head);
    begin("_muster_options", "$1", out);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_options(command_page((enum command_id)i), out);
    end(out);
    buf_adds(out,
             "# _muster_value COMMAND OPTION: what stands behind it, in REPLY: words, @files "
             "and the like, nothing behind a flag.\n");
    begin("_muster_value", "$1:$2", out);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_values(command_page((enum command_id)i), out);
    end(out);
    buf_adds(out, "# _muster_words COMMAND: what it takes besides options, in REPLY.\n");
    begin("_muster_words", "$1", out);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        const struct command_page *page = command_page((enum command_id)i);
        if (page->has_program || page->words)
            buf_addf(out, "    %s) REPLY='%s' ;;\n", page->name,
                     page->has_program ? "@program" : page->words);
    }
    end(out);
    buf_adds(out, "_muster_commands='");
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        buf_addf(out, "%s%s", i ? " " : "", command_page((enum command_id)i)->name);
    buf_adds(out, "'\n\n");
    buf_adds(out, body);
}
