#include "launcher/core/remote_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "launcher/core/shell_quote.h"

static void add(struct argv *out, char *word)
{
    array_grow(out->words, out->n, out->cap);
    out->words[out->n] = word;
    out->n += word != NULL;
}

static void add_all(struct argv *out, const char *const *words)
{
    for (; words && *words; words++)
        add(out, mem_strdup(*words));
}

void argv_fini(struct argv *argv)
{
    for (size_t i = 0; i < argv->n; i++)
        free(argv->words[i]);
    free(argv->words);
    *argv = (struct argv){0};
}

/* Ends the list, or undoes it. */
static int finish(int rc, struct argv *out)
{
    if (rc == 0)
        add(out, NULL);
    else
        argv_fini(out);
    return rc;
}

static int check_path(const char *path, const char *what, struct err *e)
{
    if (path[0] == '/')
        return 0;
    return err_set(e, ERR_USAGE, "%s is not an absolute path: \"%.80s\"", what, path);
}

static int check_token(const char *token, struct err *e)
{
    if (strlen(token) == REMOTE_TOKEN_DIGITS
        && strspn(token, "0123456789abcdef") == REMOTE_TOKEN_DIGITS)
        return 0;
    return err_set(e, ERR_INTERNAL, "a boot token has %d hexadecimal digits",
                   REMOTE_TOKEN_DIGITS);
}

static int check_ssh_word(const char *word, const char *what, struct err *e)
{
    if (word[0] && word[0] != '-')
        return 0;
    return err_set(e, ERR_USAGE, "%s \"%.80s\" would be read as an option by ssh", what, word);
}

static int add_remote_text(const struct remote_ssh *r, struct argv *out, struct err *e)
{
    struct buf text;
    buf_init(&text, 0);
    buf_adds(&text, "exec ");
    int rc = shell_quote(r->muster, &text, e);
    for (const char *const *word = r->words; word && *word && rc == 0; word++) {
        buf_addc(&text, ' ');
        rc = shell_quote(*word, &text, e);
    }
    if (!r->words)
        buf_addf(&text, " agent --boot=%s", r->token);
    if (rc == 0)
        add(out, buf_steal(&text));
    buf_fini(&text);
    return rc;
}

int remote_ssh_argv(const struct remote_ssh *r, struct argv *out, struct err *e)
{
    static const char *const fixed[] = {"-T", "-x",
                                        "-o", "BatchMode=yes",
                                        "-o", "ConnectTimeout=10",
                                        "-o", "ServerAliveInterval=5",
                                        "-o", "ServerAliveCountMax=3",
                                        "-o", "ClearAllForwardings=yes",
                                        "-o", "ControlMaster=no",
                                        "-o", "RemoteCommand=none",
                                        NULL};
    *out = (struct argv){0};
    if (check_path(r->muster, "muster on the other host", e) != 0
        || (!r->words && check_token(r->token, e) != 0)
        || check_ssh_word(r->host, "host", e) != 0
        || (r->user && check_ssh_word(r->user, "user", e) != 0))
        return -1;
    add(out, mem_strdup(r->ssh ? r->ssh : "ssh"));
    add_all(out, r->args);
    add_all(out, fixed);
    if (r->port) {
        add(out, mem_strdup("-p"));
        add(out, mem_printf("%u", r->port));
    }
    if (r->user) {
        add(out, mem_strdup("-l"));
        add(out, mem_strdup(r->user));
    }
    add(out, mem_strdup("--"));
    add(out, mem_strdup(r->host));
    return finish(add_remote_text(r, out, e), out);
}

const char *const *remote_srun_hidden(void)
{
    static const char *const names[] = {"SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", NULL};
    return names;
}

int remote_srun_argv(const struct remote_srun *r, struct argv *out, struct err *e)
{
    static const char *const fixed[] = {"--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=0",
                                        "--overlap", NULL};
    *out = (struct argv){0};
    if (check_path(r->muster, "muster", e) != 0 || check_token(r->token, e) != 0)
        return -1;
    add(out, mem_strdup("srun"));
    add(out, mem_printf("--nodes=%u", r->nnodes));
    add(out, mem_printf("--ntasks=%u", r->nnodes));
    add(out, mem_strdup("--ntasks-per-node=1"));
    if (r->nodelist)
        add(out, mem_printf("--nodelist=%s", r->nodelist));
    if (r->gpus)
        add(out, mem_printf("--gres=gpu:%u", r->gpus));
    add_all(out, fixed);
    add(out, mem_strdup(r->muster));
    add(out, mem_strdup("agent"));
    add(out, mem_printf("--boot=%s", r->token));
    return finish(0, out);
}

int remote_mpi_argv(const struct remote_mpi *r, struct argv *out, struct err *e)
{
    static const char *const openmpi[] = {"--map-by", "ppr:1:node", "--bind-to", "none", NULL},
                             *const hydra[] = {"-ppn", "1", "-n", NULL};
    *out = (struct argv){0};
    if (check_path(r->muster, "muster", e) != 0
        || check_path(r->boot_file, "the boot file", e) != 0)
        return -1;
    add(out, mem_strdup(r->launcher ? r->launcher : r->is_hydra ? "mpiexec.hydra" : "mpirun"));
    if (r->hosts) {
        add(out, mem_strdup(r->is_hydra ? "-hosts" : "--host"));
        add(out, mem_strdup(r->hosts));
    }
    add_all(out, r->is_hydra ? hydra : openmpi);
    if (r->is_hydra)
        add(out, mem_printf("%u", r->nnodes));
    add(out, mem_strdup(r->muster));
    add(out, mem_strdup("agent"));
    add(out, mem_printf("--boot-file=%s", r->boot_file));
    return finish(0, out);
}
