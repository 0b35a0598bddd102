/* folder.h - removes what is in a folder of muster's own, and the folder.
 *
 * For folders that muster has made itself, never for one that a user has named.
 */
#ifndef MUSTER_LAUNCHER_IO_FOLDER_H
#define MUSTER_LAUNCHER_IO_FOLDER_H

/* Does not follow links or leave the file system; what cannot be removed stays. */
void folder_remove(const char *path);
/* Likewise, but the folder itself stays. */
void folder_empty(const char *path);

#endif
