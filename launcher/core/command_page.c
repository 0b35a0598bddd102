#include "launcher/core/command_page.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/core/check_options.h"
#include "launcher/core/jobs_options.h"
#include "launcher/core/options.h"
#include "launcher/core/store_options.h"
#include "launcher/core/torchrun_options.h"

static bool run_option(size_t i, struct option_face *out)
{
    return options_face(OPTIONS_RUN, i, out);
}

static bool plan_option(size_t i, struct option_face *out)
{
    return options_face(OPTIONS_PLAN, i, out);
}

static bool gpus_option(size_t i, struct option_face *out)
{
    return options_face(OPTIONS_GPUS, i, out);
}

static bool doctor_option(size_t i, struct option_face *out)
{
    return options_face(OPTIONS_DOCTOR, i, out);
}

static bool ps_option(size_t i, struct option_face *out)
{
    return jobs_options_face(JOBS_PS, i, out);
}

static bool top_option(size_t i, struct option_face *out)
{
    return jobs_options_face(JOBS_TOP, i, out);
}

static bool logs_option(size_t i, struct option_face *out)
{
    return jobs_options_face(JOBS_LOGS, i, out);
}

static bool stack_option(size_t i, struct option_face *out)
{
    return jobs_options_face(JOBS_STACK, i, out);
}

static bool stop_option(size_t i, struct option_face *out)
{
    return jobs_options_face(JOBS_STOP, i, out);
}

#define OF_JOB                                                                                 \
    "JOB is the id of a running job of yours on this host, or the process id of its muster; "  \
    "where only one runs it may be left out."
#define OF_JOB_STATUS "0; 2 if there is no such job, or several that may be meant."

#define OF_RUN_NOTES                                                                           \
    "Each long option but --binding, --module, --json, --only, --skip and --help can also be " \
    "set in the environment: MUSTER_MAX_RESTARTS for --max-restarts. The command line wins."

static const struct command_page pages[] = {
    [COMMAND_run] =
        {
            .name = "run",
            .summary =
                "start a group of workers (the default when the first word is an option)",
            .usage = "run [options] program [arguments]\n[options] program [arguments]",
            .about =
                "Starts one worker per GPU, serves their rendezvous and ends with the status "
                "of the first worker that failed. A program that ends in .py runs under "
                "${PYTHON:-python3} -u. Options end at the program, or at --; what follows is "
                "the program's.",
            .notes = OF_RUN_NOTES,
            .has_program = true,
            .has_job = true,
            .option = run_option,
            .examples =
                {
                    {"muster run train.py --epochs 3", "one worker per visible GPU"},
                    {"muster -n 4 -m my.package", "four workers of python3 -m my.package"},
                    {"muster --gpus 0,2 train.py", "on these two GPUs"},
                    {"muster --hosts n1:4,n2:4 train.py", "on two hosts, by ssh"},
                    {"muster --max-restarts 2 --log-dir logs train.py",
                     "the whole group again after a failure, output in files too"},
                },
        },
    [COMMAND_check] =
        {
            .name = "check",
            .summary = "does this group of GPUs work, how fast, and if not, what is wrong",
            .usage = "check [options] [-- worker-options]",
            .about =
                "Does this group of GPUs work, how fast, against what it should be, and if "
                "not, "
                "what is wrong? Looks at the machine, runs muster-worker on every GPU (without "
                "GPUs: -n N, in memory), verifies each byte and ends with one verdict. Takes "
                "the options of muster run too, but no program.",
            .notes =
                "Status 0: all is well, or a warning says what is not; 10 wrong data, 11 too "
                "slow, 12 a rank did not come, 13 NCCL, 14 CUDA, 15 a collective hangs, 16 the "
                "wrong GPU, 17 nothing could be tested, 78 preflight; else as muster run.",
            .option = check_options_face,
            .examples = {{"muster check", "every visible GPU"},
                         {"muster check --hostfile hosts --html check.html",
                          "all GPUs of these hosts, and a page to send"},
                         {"muster check --min-busbw 300 --junit check.xml", "in a pipeline"}},
        },
    [COMMAND_gpus] =
        {
            .name = "gpus",
            .summary = "which GPUs there are, what CUDA calls them, which rank would get each",
            .usage = "gpus [options]",
            .about =
                "The GPUs of this machine, what CUDA calls them under the present environment, "
                "and the rank that each would get from `muster run` with the same options. "
                "Status 0; 2 if run would refuse the options; 78 if there is no way to know "
                "the GPUs. With --hosts or --hostfile: of those hosts, each asked over ssh, in "
                "one table where equal hosts stand together; 69 if one does not answer within "
                "--join-timeout.",
            .notes = OF_RUN_NOTES,
            .option = gpus_option,
            .examples = {{"CUDA_VISIBLE_DEVICES=2,0 muster gpus --json",
                          "what that list means here, for a program to read"}},
        },
    [COMMAND_plan] =
        {
            .name = "plan",
            .summary = "what run would do with the same words: nothing is started",
            .usage = "plan [options] program [arguments]",
            .about =
                "What `muster run` with the same words would do: each rank's device, CPUs, "
                "environment and files, and where every value came from (-v: also what is "
                "passed on unchanged). Starts and changes nothing; what run would refuse is "
                "refused in the same words, with the same status. Of the hosts of a list "
                "(--hosts, --hostfile, an allocation): which ranks each gets and from what; no "
                "host is asked, and what only it knows is said to be decided there.",
            .notes = OF_RUN_NOTES,
            .has_program = true,
            .option = plan_option,
            .examples = {{"muster plan --gpus 2,0 --binding isolated train.py",
                          "which rank would get which GPU"}},
        },
    [COMMAND_doctor] =
        {
            .name = "doctor",
            .summary = "what would go wrong on these hosts, and how to mend it",
            .usage = "doctor [options]",
            .about =
                "What would go wrong on this host, or on the hosts of a list, before a job "
                "finds out: each finding says what was seen, what it leads to and how to mend "
                "it. Starts no worker and changes nothing. Status 0; 78 if there is an error; "
                "69 if a host cannot be asked. `muster explain ID` shows a rule in full.",
            .notes = OF_RUN_NOTES,
            .option = doctor_option,
            .examples = {{"muster doctor --hostfile hosts",
                          "each host looks at itself, then tries the others"},
                         {"muster doctor --strict --json", "in a prolog"}},
        },
    [COMMAND_ps] =
        {
            .name = "ps",
            .summary = "the running jobs of this user on this host",
            .usage = "ps [options]",
            .about =
                "The running jobs of this user that were started on this host: id, process id "
                "of muster, state, nodes, how many of the ranks run, generation (0 before the "
                "first restart), how long it has been running, program. A job that does not "
                "answer is 'silent'.",
            .option = ps_option,
            .status = "0, also if none runs.",
            .examples = {{"muster ps", "what runs here"},
                         {"muster ps --json", "with every rank, for a program to read"}},
        },
    [COMMAND_top] =
        {
            .name = "top",
            .summary = "what the ranks of a running job and their GPUs are doing",
            .usage = "top [options] [JOB]",
            .about =
                "What the ranks of a running job and their GPUs are doing, drawn anew every "
                "second; q ends it. A rank that differs from the rest is marked with * and "
                "named, by its steps and by the power of its GPU: utilisation does not tell, "
                "since a GPU that waits for the others is busy too. Steps are those that the "
                "workers tell (STEP=N). Only of ranks on the node that leads the job.",
            .notes = OF_JOB,
            .status = OF_JOB_STATUS,
            .option = top_option,
            .examples = {{"muster top", "of the only job that runs"},
                         {"muster top --json demo", "one look, for a program to read"}},
        },
    [COMMAND_logs] =
        {
            .name = "logs",
            .summary = "what the ranks of a running job have written",
            .usage = "logs [options] [JOB]",
            .about =
                "What the ranks of a running job have written so far, from the files of its "
                "--log-dir: standard output to standard output, standard error to standard "
                "error, each line behind the rank. A job without --log-dir keeps no files.",
            .notes = OF_JOB,
            .status = OF_JOB_STATUS,
            .option = logs_option,
            .examples = {{"muster logs -f --rank 0", "follow rank 0 until the job ends"}},
        },
    [COMMAND_stack] =
        {
            .name = "stack",
            .summary = "what every rank of a running job is doing",
            .usage = "stack [options] [JOB]",
            .about =
                "What every rank of a running job is doing, one line each, and where its "
                "stacks stand in full: as SIGQUIT (Ctrl-\\) to its muster, which shows them "
                "too. The job goes on.",
            .notes = OF_JOB,
            .status = OF_JOB_STATUS,
            .option = stack_option,
            .examples = {{"muster stack", "why is it so slow"}},
        },
    [COMMAND_stop] =
        {
            .name = "stop",
            .summary = "end a running job",
            .usage = "stop [options] [JOB]",
            .about =
                "Ends a running job, as SIGTERM to its muster does: the workers get SIGTERM "
                "and the job's --grace to save, then SIGKILL. Does not wait for that.",
            .notes = OF_JOB,
            .status = OF_JOB_STATUS,
            .option = stop_option,
            .examples = {{"muster stop", "the only job that runs"},
                         {"muster stop --kill 4a5b", "this one, at once"}},
        },
    [COMMAND_torchrun] =
        {
            .name = "torchrun",
            .summary = "the same as run, with torchrun's command line",
            .usage = "torchrun [options] script [arguments]",
            .about =
                "muster with torchrun's command line: also muster under the name torchrun or "
                "muster-torchrun. Names take dashes or underscores and may be cut to what is "
                "unique.",
            .notes =
                "Each can be set as PET_<OPTION> in the environment, but for --logs-specs, "
                "--numa-binding and --print-completion. What only muster has comes from its "
                "variables, as MUSTER_GPUS: see `muster run --help`.",
            .has_program = true,
            .has_job = true,
            .option = torchrun_options_face,
            .examples = {{"muster torchrun --nproc-per-node 4 train.py", "four workers"}},
        },
    [COMMAND_store] =
        {
            .name = "store",
            .summary = "a store of its own, for TCPStore clients and torchrun's agents",
            .usage = "store [options]",
            .about =
                "A store that PyTorch's TCPStore clients use, workers and torchrun's agents "
                "alike, until SIGTERM or SIGINT ends it with status 0. It writes its address, "
                "ADDR:PORT, once it listens.",
            .notes =
                "The protocol has no place for a proof: whoever reaches the address is served, "
                "but for other users of this machine (--store-open, MUSTER_STORE_OPEN=1).",
            .option = store_options_face,
            .examples = {{"muster store --host all --port 29400",
                          "for torchrun's agents on other nodes"}},
        },
    [COMMAND_notify] =
        {
            .name = "notify",
            .summary = "from a worker's script: I am alive, as in muster notify STEP=17",
            .usage = "notify KEY=VALUE ...",
            .about =
                "Tells the muster above that this worker is alive, for scripts: HEARTBEAT=1, "
                "STEP=N or STATUS=text, to the socket in MUSTER_NOTIFY_SOCKET. Outside of a "
                "job it does nothing, with status 0.",
            .words = "HEARTBEAT=1 STEP= STATUS=",
            .examples = {{"muster notify STEP=17 STATUS=evaluating", "from a worker's script"}},
        },
    [COMMAND_explain] =
        {
            .name = "explain",
            .summary = "say what an error code, or a rule of doctor, means",
            .usage = "explain [CODE|STATUS|RULE]",
            .about =
                "What an error code of muster's means, its exit status and what to do; of a "
                "rule of `muster doctor` what it looks at, what it leads to and how to mend "
                "it. Without a word all of them.",
#define X(name, status, hint) #name " "
            .words = ERR_REGISTRY(X),
#undef X
            .status = "0; 2 if no code has that name.",
            .examples = {{"muster explain node_lost", "what status 75 is about"}},
        },
    [COMMAND_completion] =
        {
            .name = "completion",
            .summary = "print completions for bash, zsh or fish",
            .usage = "completion bash|zsh|fish",
            .about =
                "Prints the completions of that shell for commands, options and their values. "
                "Packages install the same text as a file; this is for a muster that came "
                "without, from an archive or by pip.",
            .words = "bash zsh fish",
            .examples =
                {
                    {"source <(muster completion bash)", "in ~/.bashrc"},
                    {"source <(muster completion zsh)", "in ~/.zshrc, after compinit"},
                    {"muster completion fish | source", "in ~/.config/fish/config.fish"},
                },
        },
    [COMMAND_version] =
        {
            .name = "version",
            .summary = "print the version",
            .usage = "version",
            .about = "Prints the version.",
        },
};
static_assert(sizeof pages / sizeof pages[0] == COMMAND_COUNT, "one page a command");

const struct command_page *command_page(enum command_id id)
{
    return &pages[id];
}

/* ---- --help ---- */

enum { INDENT = 28, WIDTH = 96 };

/* Words of text from a column on; the lines after the first begin at indent. */
static void wrap(struct buf *out, struct str text, size_t indent)
{
    size_t column = indent;
    struct str word;
    bool is_first = true;
    while (str_split(&text, ' ', &word)) {
        if (!is_first && column + 1 + word.n > WIDTH) {
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

static void add_paragraphs(const char *text, struct buf *out)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        wrap(out, (struct str){text, n}, 0);
        text += n + (end ? 2 : 0);
        if (*text)
            buf_addc(out, '\n');
    }
}

static void add_usage(const struct command_page *page, struct buf *out)
{
    struct str rest = str_from(page->usage), line;
    for (const char *left = "usage:"; str_split(&rest, '\n', &line); left = "      ")
        buf_addf(out, "%s muster %.*s\n", left, STR_ARG(line));
}

static void add_option(const struct option_face *face, struct buf *out)
{
    struct buf left;
    buf_init(&left, 0);
    if (face->letter)
        buf_addf(&left, "  -%c, ", face->letter);
    else
        buf_adds(&left, "      ");
    buf_addf(&left, "--%s%s%s", face->name, face->metavar ? " " : "",
             face->metavar ? face->metavar : "");
    buf_addf(out, "%-*s", INDENT, buf_str(&left));
    if (left.len + 1 > INDENT)
        buf_addf(out, "\n%*s", INDENT, "");
    wrap(out, str_from(face->help), INDENT);
    buf_fini(&left);
}

void command_page_help(const struct command_page *page, struct buf *out)
{
    struct option_face face;
    add_usage(page, out);
    buf_addc(out, '\n');
    add_paragraphs(page->about, out);
    for (size_t i = 0; page->option && page->option(i, &face); i++) {
        if (i == 0)
            buf_addc(out, '\n');
        add_option(&face, out);
    }
    if (page->notes) {
        buf_addc(out, '\n');
        add_paragraphs(page->notes, out);
    }
}
