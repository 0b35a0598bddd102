#include "launcher/io/check_files.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/out_file.h"
#include "launcher/core/check_html.h"
#include "launcher/core/check_junit.h"
#include "launcher/core/check_table.h"
#include "launcher/io/check_json.h"
#include "launcher/io/report_json.h"

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool check_files_use_stdout(const struct check_options *opt)
{
    return is_stdout(opt->json) || is_stdout(opt->csv) || is_stdout(opt->html)
           || is_stdout(opt->junit);
}

static int check_file(const char *option, const char *path, struct err *e)
{
    return path && !is_stdout(path) ? report_file_check(option, path, e) : 0;
}

int check_files_check(const struct check_options *opt, struct err *e)
{
    if (is_stdout(opt->json) + is_stdout(opt->csv) + is_stdout(opt->html)
            + is_stdout(opt->junit)
        > 1)
        return err_set(e, ERR_USAGE, "only one of --json, --csv, --html and --junit can be -");
    return check_file("--json", opt->json, e) < 0 || check_file("--csv", opt->csv, e) < 0
                   || check_file("--html", opt->html, e) < 0
                   || check_file("--junit", opt->junit, e) < 0
               ? -1
               : 0;
}

static int write_file(const char *option, const char *path, const struct buf *text)
{
    struct err e;
    if (is_stdout(path))
        fwrite(text->data, 1, text->len, stdout);
    else if (out_file_write(path, buf_str(text), text->len, &e) < 0) {
        log_error("check", "%s: %s", option, e.text);
        return err_exit_status(e.code);
    }
    return 0;
}

static int render(const char *option, const char *path, const struct check_result *r,
                  void (*renderer)(const struct check_result *r, struct buf *out))
{
    struct buf text;
    if (!path)
        return 0;
    buf_init(&text, 0);
    renderer(r, &text);
    int status = write_file(option, path, &text);
    buf_fini(&text);
    return status;
}

static int write_json(const char *path, const struct check_result *r, const struct buf *json)
{
    struct buf text;
    if (!path)
        return 0;
    buf_init(&text, 0);
    check_json_write(r, json->data, json->len, &text);
    int status = write_file("--json", path, &text);
    buf_fini(&text);
    return status;
}

int check_files_write(const struct check_options *opt, const struct check_result *r,
                      const struct buf *json)
{
    const int status[] = {
        render("--csv", opt->csv, r, check_csv), render("--html", opt->html, r, check_html),
        render("--junit", opt->junit, r, check_junit), write_json(opt->json, r, json)};
    for (size_t i = 0; i < sizeof status / sizeof status[0]; i++)
        if (status[i])
            return status[i];
    return 0;
}
