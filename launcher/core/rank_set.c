#include "launcher/core/rank_set.h"

#include "base/str.h"

static int parse_range(struct str part, uint64_t *first, uint64_t *last)
{
    struct str low;
    if (!str_split(&part, '-', &low) || str_parse_u64(low, 0, UINT32_MAX, first) < 0)
        return -1;
    *last = *first;
    if (!part.p)
        return 0;
    return str_parse_u64(part, *first, UINT32_MAX, last);
}

bool rank_set_is_valid(const char *text)
{
    struct str rest = str_from(text), part;
    uint64_t first, last;
    while (str_split(&rest, ',', &part))
        if (parse_range(part, &first, &last) < 0)
            return false;
    return true;
}

bool rank_set_has(const char *text, uint32_t rank)
{
    struct str rest = str_from(text), part;
    uint64_t first, last;
    while (str_split(&rest, ',', &part))
        if (parse_range(part, &first, &last) == 0 && rank >= first && rank <= last)
            return true;
    return false;
}

uint32_t rank_set_last(const char *text)
{
    struct str rest = str_from(text), part;
    uint64_t first, last, most = 0;
    while (str_split(&rest, ',', &part))
        if (parse_range(part, &first, &last) == 0 && last > most)
            most = last;
    return (uint32_t)most;
}

static int parse_entry(struct str part, uint64_t *rank, uint64_t *streams)
{
    struct str key;
    if (!str_split(&part, ':', &key) || str_parse_u64(key, 0, UINT32_MAX, rank) < 0)
        return -1;
    return str_parse_u64(part, 0, STREAM_BOTH, streams);
}

bool stream_map_is_valid(const char *text)
{
    struct str rest = str_from(text), part;
    uint64_t rank, streams;
    if (str_parse_u64(rest, 0, STREAM_BOTH, &streams) == 0)
        return true;
    while (str_split(&rest, ',', &part))
        if (parse_entry(part, &rank, &streams) < 0)
            return false;
    return true;
}

unsigned stream_map_get(const char *text, uint32_t rank)
{
    struct str rest = str_from(text), part;
    uint64_t key, streams, found = 0;
    if (str_parse_u64(rest, 0, STREAM_BOTH, &found) == 0)
        return (unsigned)found;
    while (str_split(&rest, ',', &part))
        if (parse_entry(part, &key, &streams) == 0 && key == rank)
            found = streams;
    return (unsigned)found;
}
