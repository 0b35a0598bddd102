/* muster store: a store without a job, for TCPStore clients and torchrun's agents. */
#include <unistd.h>

#include "base/log.h"
#include "launcher/cmd/cmd.h"
#include "launcher/core/store_options.h"
#include "launcher/io/driver_store.h"

int cmd_store(char *const *args)
{
    struct err e;
    struct store_options opt;
    if (store_options_parse(args, (const char *const *)environ, &opt, &e) < 0)
        return cmd_fail(&e);
    if (opt.is_help)
        return cmd_help(COMMAND_store);
    log_set_level(opt.is_verbose ? LOG_DEBUG : LOG_INFO);
    return driver_store_run(&opt, &e) < 0 ? cmd_fail(&e) : 0;
}
