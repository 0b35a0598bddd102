#include "launcher/io/probe_bus.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { VENDOR_NVIDIA = 0x10de, CLASS_DISPLAY = 0x03 };

/* The number in a file of one "0x..." line, 0 if there is none. */
static unsigned long read_number(const char *dir, const char *device, const char *file)
{
    char *path = mem_printf("%s/%s/%s", dir, device, file), text[32] = "";
    FILE *f = fopen(path, "re");
    free(path);
    if (!f)
        return 0;
    if (!fgets(text, sizeof text, f))
        text[0] = '\0';
    fclose(f);
    return strtoul(text, NULL, 16);
}

int probe_bus_count(const char *sys)
{
    char *path = mem_printf("%s/bus/pci/devices", sys);
    DIR *dir = opendir(path);
    int n = dir ? 0 : -1;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.'
            && read_number(path, entry->d_name, "vendor") == VENDOR_NVIDIA
            && read_number(path, entry->d_name, "class") >> 16 == CLASS_DISPLAY)
            n++;
    if (dir)
        closedir(dir);
    free(path);
    return n;
}
