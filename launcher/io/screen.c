#include "launcher/io/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define ENTER "\x1b[?1049h\x1b[?25l" /* the alternate screen, no cursor */
#define LEAVE "\x1b[?25h\x1b[?1049l"
#define HOME "\x1b[H"
#define REST_OF_LINE "\x1b[K"
#define REST_OF_SCREEN "\x1b[J"

enum { KEY_INTERRUPT = 3, WIDTH_UNKNOWN = 80, HEIGHT_UNKNOWN = 24 };

static void write_all(const char *p, size_t n)
{
    while (n) {
        ssize_t done = write(STDOUT_FILENO, p, n);
        if (done < 0 && errno != EINTR)
            return;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
}

int screen_begin(struct screen *s, struct err *e)
{
    sigset_t taken;
    sigemptyset(&taken);
    for (const int *signo = (const int[]){SIGWINCH, SIGINT, SIGTERM, SIGHUP, 0}; *signo;
         signo++)
        sigaddset(&taken, *signo);
    if (tcgetattr(STDIN_FILENO, &s->before) < 0)
        return err_sys(e, errno, "standard input is no terminal");
    s->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0)
        return err_sys(e, errno, "signalfd");
    sigprocmask(SIG_BLOCK, &taken, NULL);
    struct termios keys = s->before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
    write_all(ENTER, strlen(ENTER));
    return 0;
}

void screen_end(struct screen *s)
{
    write_all(LEAVE, strlen(LEAVE));
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &s->before);
    close(s->signals);
}

void screen_size(unsigned *width, unsigned *height)
{
    struct winsize size;
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *width = is_known && size.ws_col ? size.ws_col : WIDTH_UNKNOWN;
    *height = is_known && size.ws_row ? size.ws_row : HEIGHT_UNKNOWN;
}

void screen_draw(const char *text, size_t n)
{
    struct buf out;
    buf_init(&out, 0);
    buf_adds(&out, HOME);
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\n')
            buf_addc(&out, text[i]);
        else
            buf_adds(&out, i + 1 < n ? REST_OF_LINE "\r\n" : REST_OF_LINE);
    }
    buf_adds(&out, REST_OF_SCREEN);
    write_all(out.data, out.len);
    buf_fini(&out);
}

static bool is_quit_key(void)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        return true; /* the terminal has gone */
    return n > 0 && (memchr(keys, 'q', (size_t)n) || memchr(keys, KEY_INTERRUPT, (size_t)n));
}

enum screen_news screen_wait(struct screen *s, uint64_t ms)
{
    const uint64_t end_ms = now_ms() + ms;
    for (uint64_t now = now_ms(); now < end_ms; now = now_ms()) {
        struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = s->signals, .events = POLLIN}};
        struct signalfd_siginfo info;
        if (poll(fds, 2, (int)(end_ms - now)) <= 0)
            continue;
        if (fds[1].revents && read(s->signals, &info, sizeof info) == sizeof info)
            return info.ssi_signo == SIGWINCH ? SCREEN_RESIZED : SCREEN_QUIT;
        if (fds[0].revents && is_quit_key())
            return SCREEN_QUIT;
    }
    return SCREEN_DUE;
}
