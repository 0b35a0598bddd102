#include "launcher/core/node_order.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* Compares the digit runs at *a and *b as numbers of any length, and goes behind them. */
static int compare_numbers(const char **a, const char **b)
{
    size_t n = 0, m = 0;
    while (**a == '0')
        ++*a;
    while (**b == '0')
        ++*b;
    while (is_digit((*a)[n]))
        n++;
    while (is_digit((*b)[m]))
        m++;
    int by_value = n != m ? (n < m ? -1 : 1) : memcmp(*a, *b, n);
    *a += n;
    *b += m;
    return by_value;
}

int node_name_compare(const char *a, const char *b)
{
    const char *x = a, *y = b;
    while (*x && *y) {
        int d;
        if (is_digit(*x) && is_digit(*y)) {
            d = compare_numbers(&x, &y);
        } else {
            d = lower(*x) - lower(*y);
            x++;
            y++;
        }
        if (d)
            return d;
    }
    int by_rest = lower(*x) - lower(*y);
    return by_rest ? by_rest : strcmp(a, b);
}

static int compare_addresses(const char *a, const char *b)
{
    static const int families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        unsigned char x[16] = {0}, y[16] = {0};
        bool is_a = inet_pton(families[i], a, x) == 1, is_b = inet_pton(families[i], b, y) == 1;
        if (is_a != is_b)
            return is_a ? -1 : 1;
        if (is_a)
            return memcmp(x, y, sizeof x);
    }
    return strcmp(a, b);
}

int node_compare(const struct node_identity *a, const struct node_identity *b)
{
    int d = node_name_compare(a->name, b->name);
    if (!d)
        d = compare_addresses(a->address, b->address);
    return d ? d : (a->pid > b->pid) - (a->pid < b->pid);
}
