/* A program that takes its part of the work from its environment and needs nothing else: no
 * library of muster's, no group, no GPU. Each rank adds up its share of a sum whose total is pi
 * squared over 6.
 *
 *   cc -std=c11 -O2 main.c -o part && muster -n 4 ./part */
#include <stdio.h>
#include <stdlib.h>

enum { TERMS = 1000000 };

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : otherwise;
    return text && (end == text || *end) ? -1 : value;
}

int main(void)
{
    /* Without a launcher it is alone: the only one, number 0. */
    long rank = number("RANK", 0), world = number("WORLD_SIZE", 1);
    if (rank < 0 || rank >= world) {
        fputs("RANK has to be a number below WORLD_SIZE, as muster -n N sets them\n", stderr);
        return 2;
    }
    long from = TERMS / world * rank,
         to = rank + 1 == world ? TERMS : TERMS / world * (rank + 1);
    double sum = 0;
    for (long i = to; i > from; i--)
        sum += 1 / ((double)i * (double)i);
    printf("rank %ld of %ld: terms %ld to %ld, sum %.9f\n", rank, world, from + 1, to, sum);
    return fflush(stdout) ? 1 : 0;
}
