/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_JOURNAL_JOURNAL_H
#define ALLOCFILT_JOURNAL_JOURNAL_H

#include "allocfilt/output/form.h"

/* MESSAGE_ID= of our entries. They never change; systemd/allocfilt.catalog explains them. */
#define JOURNAL_ID_STALL     "a07bd6a1052e48fa86bcebbbb4bf96b0"
#define JOURNAL_ID_HELD_BACK "fe3bd3503e624624a014405fa9cae19f"
#define JOURNAL_ID_STATUS    "89fdb4c253ef4d4cb9e2424f1749c5cb"
#define JOURNAL_ID_UNIT	     "6f3c1c8e8a3b4f0c9a5d2f7e4b1d6c90"
#define JOURNAL_ID_SUMMARY   "8319ab3bd5b242deab8a65e1edc464d2"

/* The form of --journal. */
extern const struct output_ops journal_form;

/* Path of journald's socket; tests set their own. */
extern const char *journal_socket_path;

#endif
