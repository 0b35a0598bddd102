#include "launcher/io/control_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/core/log_paths.h"

enum { ID_BYTES_MAX = 32 };

bool control_folder_format(enum control_place place, struct buf *out)
{
    const char *given = getenv("MUSTER_RUNTIME_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (given && *given) {
        if (place == CONTROL_RUNTIME)
            buf_adds(out, given);
    } else if (place == CONTROL_TMP)
        buf_addf(out, "/tmp/muster-%u", (unsigned)geteuid());
    else if (runtime && runtime[0] == '/')
        buf_addf(out, "%s/muster", runtime);
    return out->len > 0;
}

int control_folder_check(const char *path, bool *is_there, struct err *e)
{
    struct stat st;
    *is_there = lstat(path, &st) == 0;
    if (!*is_there)
        return errno == ENOENT ? 0 : err_sys(e, errno, "%s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_SYSTEM, "%s is no folder", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_SYSTEM, "%s belongs to user %u, not to us", path,
                       (unsigned)st.st_uid);
    if ((st.st_mode & 07777) != 0700)
        return err_set(e, ERR_SYSTEM, "%s has mode %04o, not 0700", path,
                       (unsigned)st.st_mode & 07777);
    return 0;
}

int control_folder_make(const char *path, struct err *e)
{
    bool is_there;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make %s", path);
    return control_folder_check(path, &is_there, e);
}

int control_address(const char *folder, const char *job_id, pid_t pid, struct sockaddr_un *out,
                    struct err *e)
{
    struct buf name;
    buf_init(&name, 0);
    log_job_name_format(job_id, &name);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path, sizeof out->sun_path, "%s/%.*s.%d", folder, ID_BYTES_MAX,
                     buf_str(&name), (int)pid);
    buf_fini(&name);
    return n < 0 || (size_t)n >= sizeof out->sun_path
               ? err_set(e, ERR_LIMIT, "%s is too long a path for a socket", folder)
               : 0;
}

bool control_name_parse(const char *name, struct str *id, pid_t *pid)
{
    uint64_t number;
    const char *dot = strrchr(name, '.');
    if (!dot || name[0] == '.' || str_parse_u64(str_from(dot + 1), 1, INT32_MAX, &number) < 0)
        return false;
    if (id)
        *id = (struct str){name, (size_t)(dot - name)};
    if (pid)
        *pid = (pid_t)number;
    return true;
}

bool control_is_socket(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}
