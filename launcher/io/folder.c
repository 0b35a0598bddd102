#include "launcher/io/folder.h"

#include <ftw.h>
#include <stdio.h>

enum { DESCRIPTORS = 8 };

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0; /* what cannot be removed does not keep the rest */
}

static int remove_below(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return at->level ? remove_one(path, st, type, at) : 0;
}

void folder_remove(const char *path)
{
    nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void folder_empty(const char *path)
{
    nftw(path, remove_below, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
