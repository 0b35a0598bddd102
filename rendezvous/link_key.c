#include "rendezvous/link_key.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(LINK_SECRET_SIZE >= crypto_generichash_KEYBYTES_MIN
                  && LINK_SECRET_SIZE <= crypto_generichash_KEYBYTES_MAX,
              "a secret keys the hash");

struct link_key {
    unsigned char k[LINK_SECRET_SIZE];
    unsigned char job_tag[LINK_KEY_TAG];
    bool has_secret;
    char job_id[LINK_JOB_MAX + 1];
};

/* ---- hashing */

static void hash(const unsigned char *k, const char *word, const struct link_piece *pieces,
                 size_t n, unsigned char *out, size_t size)
{
    crypto_generichash_state st;
    crypto_generichash_init(&st, k, k ? LINK_SECRET_SIZE : 0, size);
    crypto_generichash_update(&st, (const unsigned char *)word, strlen(word) + 1);
    for (size_t i = 0; i < n; i++)
        crypto_generichash_update(&st, pieces[i].p, pieces[i].n);
    crypto_generichash_final(&st, out, size);
    sodium_memzero(&st, sizeof st);
}

void link_key_hash(const struct link_key *k, const char *word, const struct link_piece *pieces,
                   size_t n, unsigned char out[LINK_HASH])
{
    hash(k->k, word, pieces, n, out, LINK_HASH);
}

/* ---- keys */

static struct link_key *key_new(const char *job_id, struct err *e)
{
    size_t n = strlen(job_id);
    if (!n || n > LINK_JOB_MAX) {
        err_set(e, ERR_USAGE, "a job's id has 1 to %d bytes, not %zu", LINK_JOB_MAX, n);
        return NULL;
    }
    if (sodium_init() < 0) {
        err_set(e, ERR_SYSTEM, "the system gives no random bytes");
        return NULL;
    }
    struct link_key *k = sodium_malloc(sizeof *k);
    if (!k) {
        err_sys(e, errno, "no memory for a key");
        return NULL;
    }
    memset(k, 0, sizeof *k);
    memcpy(k->job_id, job_id, n);
    return k;
}

/* k is filled; the tag is keyed, so that it says nothing to who has another secret. */
static struct link_key *key_finish(struct link_key *k)
{
    unsigned char tag[LINK_HASH];
    const struct link_piece id = {k->job_id, strlen(k->job_id)};
    hash(k->k, "muster job", &id, 1, tag, sizeof tag);
    memcpy(k->job_tag, tag, sizeof k->job_tag);
    sodium_mprotect_readonly(k);
    return k;
}

struct link_key *link_key_from_secret(const unsigned char secret[LINK_SECRET_SIZE],
                                      const char *job_id, struct err *e)
{
    struct link_key *k = key_new(job_id, e);
    if (!k)
        return NULL;
    memcpy(k->k, secret, sizeof k->k);
    k->has_secret = true;
    return key_finish(k);
}

struct link_key *link_key_from_id(const char *job_id, struct err *e)
{
    struct link_key *k = key_new(job_id, e);
    if (!k)
        return NULL;
    const struct link_piece id = {k->job_id, strlen(k->job_id)};
    hash(NULL, "muster id", &id, 1, k->k, sizeof k->k);
    return key_finish(k);
}

static int check_file(const char *path, const struct stat *st, struct err *e)
{
    if (!S_ISREG(st->st_mode))
        return err_set(e, ERR_USAGE, "secret file %s: no regular file", path);
    if (st->st_uid != geteuid())
        return err_set(e, ERR_USAGE,
                       "secret file %s: belongs to user %u, not to the one who runs this (%u)",
                       path, (unsigned)st->st_uid, (unsigned)geteuid());
    if (st->st_mode & 077)
        return err_set(e, ERR_USAGE,
                       "secret file %s: mode %04o lets others at it; chmod 600 %s", path,
                       (unsigned)st->st_mode & 07777, path);
    return 0;
}

/* How many bytes were read, at most n; -1 with errno. */
static ssize_t read_all(int fd, unsigned char *to, size_t n)
{
    size_t got = 0;
    while (got < n) {
        ssize_t m = read(fd, to + got, n - got);
        if (m < 0 && errno == EINTR)
            continue;
        if (m < 0)
            return -1;
        if (m == 0)
            break;
        got += (size_t)m;
    }
    return (ssize_t)got;
}

static size_t without_line_end(const unsigned char *p, size_t n)
{
    if (n && p[n - 1] == '\n')
        n--;
    if (n && p[n - 1] == '\r')
        n--;
    return n;
}

static int usage_errno(struct err *e, const char *path)
{
    err_sys(e, errno, "secret file %s", path);
    if (e)
        e->code = ERR_USAGE;
    return -1;
}

/* Fills bytes; how many without the line end, or -1. */
static ssize_t read_secret(const char *path, unsigned char *bytes, size_t size, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return usage_errno(e, path);
    ssize_t n = -1;
    if (fstat(fd, &st) < 0)
        usage_errno(e, path);
    else if (check_file(path, &st, e) == 0 && (n = read_all(fd, bytes, size)) < 0)
        usage_errno(e, path);
    close(fd);
    if (n < 0)
        return -1;
    if ((size_t)n > LINK_SECRET_FILE_MAX)
        return err_set(e, ERR_USAGE, "secret file %s: more than %d bytes", path,
                       LINK_SECRET_FILE_MAX);
    n = (ssize_t)without_line_end(bytes, (size_t)n);
    if (n < LINK_SECRET_FILE_MIN)
        return err_set(e, ERR_USAGE,
                       "secret file %s: %zd bytes; at least %d are needed, such as those of "
                       "`head -c 32 /dev/urandom`",
                       path, n, LINK_SECRET_FILE_MIN);
    return n;
}

struct link_key *link_key_from_file(const char *path, const char *job_id, struct err *e)
{
    struct link_key *k = key_new(job_id, e);
    if (!k)
        return NULL;
    unsigned char bytes[LINK_SECRET_FILE_MAX + 1];
    ssize_t n = read_secret(path, bytes, sizeof bytes, e);
    if (n < 0) {
        sodium_memzero(bytes, sizeof bytes);
        link_key_free(k);
        return NULL;
    }
    const struct link_piece content = {bytes, (size_t)n};
    hash(NULL, "muster secret", &content, 1, k->k, sizeof k->k);
    k->has_secret = true;
    sodium_memzero(bytes, sizeof bytes);
    return key_finish(k);
}

bool link_key_has_secret(const struct link_key *k)
{
    return k->has_secret;
}

const unsigned char *link_key_tag(const struct link_key *k)
{
    return k->job_tag;
}

const char *link_key_job(const struct link_key *k)
{
    return k->job_id;
}

void link_key_free(struct link_key *k)
{
    sodium_free(k);
}

/* ---- secrets */

int link_secret_new(unsigned char secret[LINK_SECRET_SIZE], struct err *e)
{
    if (sodium_init() < 0)
        return err_set(e, ERR_SYSTEM, "the system gives no random bytes");
    randombytes_buf(secret, LINK_SECRET_SIZE);
    return 0;
}

void link_secret_format(const unsigned char secret[LINK_SECRET_SIZE],
                        char text[LINK_SECRET_TEXT_SIZE])
{
    sodium_bin2hex(text, LINK_SECRET_TEXT_SIZE, secret, LINK_SECRET_SIZE);
}

int link_secret_parse(struct str text, unsigned char secret[LINK_SECRET_SIZE])
{
    size_t n = 0;
    const char *end = NULL;
    if (text.n != 2 * LINK_SECRET_SIZE)
        return -1;
    int rc = sodium_hex2bin(secret, LINK_SECRET_SIZE, text.p, text.n, NULL, &n, &end);
    return rc == 0 && n == LINK_SECRET_SIZE && end == text.p + text.n ? 0 : -1;
}

void link_secret_wipe(void *p, size_t n)
{
    sodium_memzero(p, n);
}
