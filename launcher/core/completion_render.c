#include "launcher/core/completion_render.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *shell;
    void (*render)(struct buf *out);
    const char *torchrun; /* the line that adds this name */
} rows[] = {
    {"bash", completion_bash, "complete -F _muster torchrun\n"},
    {"zsh", completion_zsh, "compdef _muster torchrun\n"},
    {"fish", completion_fish, "complete -c torchrun -w muster-torchrun\n"},
};
enum { NSHELLS = sizeof rows / sizeof rows[0] };

static int render(const char *shell, bool is_torchrun, struct buf *out, struct err *e)
{
    for (size_t i = 0; shell && i < NSHELLS; i++) {
        if (strcmp(shell, rows[i].shell) != 0)
            continue;
        rows[i].render(out);
        buf_adds(out, is_torchrun ? rows[i].torchrun : "");
        return 0;
    }
    if (!shell)
        return err_set(e, ERR_USAGE,
                       "completion: for which shell? As in: muster completion bash (also zsh, "
                       "fish)");
    return err_set(e, ERR_USAGE,
                   "completion: there is none for '%.40s'; there is for bash, zsh and fish",
                   shell);
}

int completion_render(const char *shell, struct buf *out, struct err *e)
{
    return render(shell, false, out, e);
}

int completion_render_torchrun(const char *shell, struct buf *out, struct err *e)
{
    return render(shell, true, out, e);
}
