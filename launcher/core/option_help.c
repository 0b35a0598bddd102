#include "launcher/core/options.h" /* of which this is the part that describes */

#include <assert.h>

#include "base/str.h"
#include "launcher/core/option_row.h"

static void wrap(struct buf *out, const char *text, size_t indent, size_t width)
{
    size_t column = indent;
    struct str rest = str_from(text), word;
    bool is_first = true;
    while (str_split(&rest, ' ', &word)) {
        if (!is_first && column + 1 + word.n > width) {
            buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            buf_addc(out, ' ');
            column++;
        }
        buf_add(out, word.p, word.n);
        column += word.n;
        is_first = false;
    }
    buf_addc(out, '\n');
}

static const char *const usages[] = {
    [OPTIONS_RUN] =
        "usage: muster run [options] program [arguments]\n"
        "       muster [options] program [arguments]\n\n"
        "Starts one worker per GPU, serves their rendezvous and ends with the status of the "
        "first\n"
        "worker that failed. A program that ends in .py runs under ${PYTHON:-python3} -u.\n\n",
    [OPTIONS_PLAN] =
        "usage: muster plan [options] program [arguments]\n\n"
        "What `muster run` with the same words would do: each rank's device, CPUs, environment "
        "and files,\n"
        "and where every value came from (-v: also what is passed on unchanged). Starts and "
        "changes nothing;\n"
        "what run would refuse is refused in the same words, with the same status.\n\n",
    [OPTIONS_GPUS] =
        "usage: muster gpus [options]\n\n"
        "The GPUs of this machine, what CUDA calls them under the present environment, and the "
        "rank that\n"
        "each would get from `muster run` with the same options. Status 0; 2 if run would "
        "refuse "
        "the\n"
        "options; 78 if there is no way to know the GPUs.\n\n",
    [OPTIONS_DOCTOR] =
        "usage: muster doctor [options]\n\n"
        "What would go wrong on this host, or on the hosts of a list, before a job finds out: "
        "each finding\n"
        "says what was seen, what it leads to and how to mend it. Starts no worker and changes "
        "nothing.\n"
        "Status 0; 78 if there is an error. `muster explain ID` shows a rule in full.\n\n",
};

/* Which GPUs, for whom, and how it is said. */
static bool is_about_gpus(enum option_id id)
{
    return id <= OPTION_SKIP_UNHEALTHY || id == OPTION_JSON || id == OPTION_HELP;
}
static_assert(OPTION_NPROC == 0, "the options of GPU selection come first in the table");

/* Which hosts and GPUs, what is judged, and how it is said. */
static bool is_about_doctor(enum option_id id)
{
    return is_about_gpus(id) || id == OPTION_NNODES
           || (id >= OPTION_HOSTFILE && id <= OPTION_EXCLUDE)
           || (id >= OPTION_SSH && id <= OPTION_REMOTE_MUSTER)
           || (id > OPTION_PREFLIGHT && id <= OPTION_VERBOSE);
}
static_assert(OPTION_PREFLIGHT < OPTION_ONLY && OPTION_ONLY < OPTION_VERBOSE,
              "the options of doctor stand together");

static bool is_shown(enum option_command command, enum option_id id)
{
    switch (command) {
    case OPTIONS_RUN:
        return id != OPTION_JSON && id != OPTION_LOOKUP && id != OPTION_EVIDENCE;
    case OPTIONS_PLAN:
        return !(id >= OPTION_PREFLIGHT && id <= OPTION_EVIDENCE);
    case OPTIONS_GPUS:
        return is_about_gpus(id);
    case OPTIONS_DOCTOR:
        return is_about_doctor(id);
    }
    return true;
}

void options_help(struct buf *out)
{
    options_help_command(OPTIONS_RUN, out);
}

void options_help_command(enum option_command command, struct buf *out)
{
    enum { INDENT = 28, WIDTH = 96 };
    buf_adds(out, usages[command]);
    for (size_t i = 0; i < OPTION_ID_COUNT; i++) {
        const struct option_row *row = options_row((enum option_id)i);
        if (!is_shown(command, (enum option_id)i))
            continue;
        struct buf left;
        buf_init(&left, 0);
        if (row->letter)
            buf_addf(&left, "  -%c, ", row->letter);
        else
            buf_adds(&left, "      ");
        buf_addf(&left, "--%s%s%s", row->name, row->metavar ? " " : "",
                 row->metavar ? row->metavar : "");
        buf_addf(out, "%-*s", INDENT, buf_str(&left));
        if (left.len + 1 > INDENT)
            buf_addf(out, "\n%*s", INDENT, "");
        wrap(out, row->help, INDENT, WIDTH);
        buf_fini(&left);
    }
    buf_adds(
        out,
        "\nEach long option but --binding, --module, --json, --only, --skip and --help can "
        "also be set in the environment:\n"
        "MUSTER_MAX_RESTARTS for --max-restarts. The command line wins.\n");
}
