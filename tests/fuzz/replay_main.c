/* Replays every file of the folders that are named, through a fuzz target built without
 * libFuzzer. Fails if there was none. */
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(size ? size : 1); /* its own size: ASan sees a read past it */
    size_t got = fread(data, 1, size, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, got);
    free(data);
    return got == size ? 0 : -1;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    int rc = 0;
    for (int i = 1; i < argc; i++) {
        char pattern[4096];
        snprintf(pattern, sizeof pattern, "%s/*", argv[i]);
        glob_t found = {0};
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++, count++)
                rc |= replay(found.gl_pathv[k]);
        globfree(&found);
    }
    printf("%zu inputs\n", count);
    return rc || !count ? 1 : 0;
}
