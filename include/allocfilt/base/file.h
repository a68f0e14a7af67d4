/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_BASE_FILE_H
#define ALLOCFILT_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Files: each function returns 0 or -errno and logs nothing. @dir: NULL: @path as it is. */

#define FILE_TEXT_MAX (64 << 20) /* bytes: larger than any text that we read */

/**
 * file_open - open a regular file for reading; never waits
 * @most: bytes; the kernel's own files have a size of 0
 *
 * A capture may come from anybody: opening a FIFO would wait for its writer, a device may have no
 * end, and a link may lead to any file. Returns a descriptor or -errno: -ELOOP for a symbolic link,
 * -EISDIR, -EMEDIUMTYPE for anything else that is not a regular file, -EFBIG for more than @most.
 */
int file_open(const char *dir, const char *path, int64_t most);

/** file_error - strerror(3) for a failure of file_open() or file_read(); @error: positive */
const char *file_error(int error);

/**
 * file_read - read a whole file into a buffer with a NUL after it; free() it
 * @ret_length: without the NUL; NULL where it is not needed
 *
 * Opened as by file_open(). -EFBIG for more than FILE_TEXT_MAX.
 */
int file_read(const char *dir, const char *path, char **ret_text, size_t *ret_length);

/** file_read_fd - the same from a descriptor, which stays open */
int file_read_fd(int fd, char **ret_text, size_t *ret_length);

/**
 * file_read_at - pread() until there are @size bytes, also after EINTR
 * @ret_length: how many were read, also where it fails; fewer than @size without a failure: the end
 */
int file_read_at(int fd, void *to, size_t size, off_t at, size_t *ret_length);

/** file_write_all - write() until all of it is written, also after EINTR */
int file_write_all(int fd, const char *text, size_t length);

/** file_path - "dir/path" in a buffer of PATH_MAX; 0 or -ENAMETOOLONG */
int file_path(char *buffer, const char *dir, const char *path);

/*
 * What is written may lie where another user can write, too. He must not make us write, truncate or
 * change a file that he could not write himself. So a directory is opened once, and what is written
 * in it goes by its descriptor and a name without a slash; no link in it is followed. How its path
 * leads there is the choice of whoever named it.
 */

/**
 * file_open_parent - open the directory of a path for the *at() calls (O_PATH)
 * @ret_name: the name in it, a part of @path
 *
 * Returns a descriptor, or -errno (-EISDIR: no name after the last slash).
 */
int file_open_parent(const char *path, const char **ret_name);

/**
 * file_make_directory - make a directory (0700) unless it exists, and open it
 *
 * Returns a descriptor, or -errno (-ENOTDIR: also a symbolic link). file_distrust() tells if the one
 * that exists is ours alone.
 */
int file_make_directory(const char *path);

/**
 * file_distrust - NULL where no other user can change a file or directory, or why that is possible
 * @type: S_IFREG or S_IFDIR
 *
 * "is another user's", "can be written by others", "is not a regular file", and the like.
 */
const char *file_distrust(int fd, mode_t type);

/**
 * file_replace - write a file anew, mode 0600: a reader sees the old text or the new one, whole
 * @dir: descriptor of its directory, which may be another user's
 * @name: without a slash
 * @sync: fsync() it before the rename, for a file that has to survive a crash
 *
 * The text goes to .NAME.allocfilt in the same directory, which is then renamed. What is there by
 * that name, of a killed run or of somebody else, is removed, and a link is not followed. Only a
 * regular file is replaced: root would else lose /dev/null or /dev/stdout. After a failure the file
 * has its old text. Errors as of file_open(), for file_error().
 */
int file_replace(int dir, const char *name, const char *text, size_t length, bool sync);

/* file_replace() in two steps, for a text that is written piece by piece. Allocates nothing. */
struct file_replacement {
	int fd; /* write the new text here */
	int dir;
	const char *name; /* not copied */
	char temporary[NAME_MAX + 1];
};

/**
 * file_replace_begin - open the temporary file
 * @mode: of the new file, whatever the umask is
 *
 * After a failure nothing is left to be done.
 */
int file_replace_begin(struct file_replacement *file, int dir, const char *name, mode_t mode);

/**
 * file_replace_end - rename the new file into place, or remove it where @ret is a failure
 *
 * To be called after each successful file_replace_begin(). Returns @ret if it is not 0.
 */
int file_replace_end(struct file_replacement *file, int ret, bool sync);

#endif
