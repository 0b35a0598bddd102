#include "launcher/io/agent_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launcher/core/node_plan.h"
#include "launcher/io/facts_gather.h"
#include "launcher/io/own_addr.h"

/* What an engine left about its own tasks would give the workers another identity: muster hides
 * it from them; here only the head's variables are set. */
static int set_environment(const struct wire_setup *setup, struct err *e)
{
    for (size_t i = 0; i < setup->nenv; i++) {
        const char *equals = strchr(setup->env[i], '=');
        char *name = mem_printf("%.*s", (int)(equals - setup->env[i]), setup->env[i]);
        int rc = setenv(name, equals + 1, 1);
        free(name);
        if (rc < 0)
            return err_sys(e, errno, "cannot set the environment");
    }
    return 0;
}

static int find_reach(struct agent_setup *s, const struct wire_setup *setup, struct err *e)
{
    const struct own_addr wish = {setup->addr, setup->iface, setup->line};
    struct netif_list netifs;
    if (!*setup->addr && !*setup->iface)
        return 0;
    if (netif_list(&netifs, e) < 0)
        return -1;
    int n = own_addr_find(&wish, &netifs, &s->reach, 1, e);
    netif_fini(&netifs);
    return n < 0 ? -1 : 0;
}

/* Where it runs and where others reach it. */
static int take_place(struct agent_setup *s, const struct wire_setup *setup, struct err *e)
{
    if (find_reach(s, setup, e) < 0)
        return -1;
    if (chdir(setup->dir) < 0)
        return err_set(e, ERR_USAGE, "the working directory %s: %s (--chdir names another)",
                       setup->dir, strerror(errno));
    return 0;
}

int agent_setup(struct agent_setup *s, enum option_command command,
                const struct wire_setup *setup, struct err *e)
{
    *s = (struct agent_setup){.has_facts = false};
    if (*setup->host) {
        s->log_name = mem_printf("muster: %s", setup->host);
        log_set_name(s->log_name);
    }
    if (set_environment(setup, e) < 0
        || (command == OPTIONS_RUN && take_place(s, setup, e) < 0))
        return -1;
    s->args = mem_alloc(setup->nargs + 1, sizeof *s->args);
    for (size_t i = 0; i < setup->nargs; i++)
        s->args[i] = mem_strdup(setup->args[i]);
    if (options_parse_command(command, s->args, (const char *const *)environ, &s->options, e)
        < 0)
        return -1;
    if (*setup->slots)
        s->options.slots = s->slots = mem_strdup(setup->slots);
    log_set_level(s->options.is_verbose ? LOG_DEBUG : LOG_INFO);
    if (facts_gather(command == OPTIONS_RUN ? facts_gpus_for(&s->options) : FACTS_NO_GPUS,
                     &s->facts, e)
        < 0)
        return -1;
    s->has_facts = true;
    if (*setup->host) {
        free((char *)(uintptr_t)s->facts.host);
        s->facts.host = mem_strdup(setup->host); /* as the list of hosts calls it */
    }
    if (command == OPTIONS_RUN)
        facts_gather_topology(s->options.cpu_bind, &s->facts);
    return 0;
}

void agent_setup_fini(struct agent_setup *s)
{
    if (s->has_facts)
        facts_release(&s->facts);
    for (size_t i = 0; s->args && s->args[i]; i++)
        free(s->args[i]);
    free(s->args);
    free(s->slots);
    log_set_name("muster");
    free(s->log_name);
}
