/* store_client.h - what the loads of a store share: a connection that blocks, bytes that must
 * come, a server's CPU time and memory. Every failure ends the program with a line. */
#ifndef MUSTER_TESTS_BENCH_STORE_CLIENT_H
#define MUSTER_TESTS_BENCH_STORE_CLIENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Ends the program: errno's text after what. */
_Noreturn void die(const char *what);

/* "127.0.0.1:29500"; ends the program with the usage where it is none. */
struct sockaddr_in parse_address(const char *text, const char *usage);

/* As many open files as the hard limit allows. */
void raise_files(void);

/* A connected socket without Nagle's delay. */
int connect_to(const struct sockaddr_in *to);
/* Closed by a reset: thousands of closed ports would else stay taken for a minute. */
void close_at_once(int fd);

void send_all(int fd, const char *p, size_t n);
void receive_all(int fd, size_t n);
void receive_into(int fd, void *to, size_t n);

/* A PING, whose answer is 4 bytes. */
void add_ping(struct buf *b);

/* CPU time in ns that the scheduler counted for a process or a thread ("PID" or
 * "PID/task/TID"); 0 where pid is empty. */
double cpu_ns(const char *pid);
/* Resident memory of a process in bytes. */
double resident_bytes(const char *pid);

#endif
