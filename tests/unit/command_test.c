// SPDX-License-Identifier: GPL-2.0-or-later
/* COMMAND: when it runs, what it inherits, its exit status, and signals to it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include "allocfilt/run/command.h"
#include "allocfilt/run/signals.h"
#include "captured_stderr.h"
#include "test_directory.h"
#include "unit_test.h"

static struct failure failure;
static struct signals *signals;
static bool failed; /* command_failed() of the last one that has ended */

/* As the program does it: before signals are blocked. */
static struct command *new_command(char *const *argv)
{
	struct command *command;
	sigset_t none, blocked;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &blocked);
	if (command_new(&command, argv, &failure))
		fail_msg("%s: %s", *argv, failure.text);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	return command;
}

static struct command *new_script(const char *script)
{
	char shell[] = "sh", option[] = "-c", *text = strdup(script);
	char *argv[] = { shell, option, text, NULL };
	struct command *command = new_command(argv);

	free(text);
	return command;
}

static int end(struct command *command)
{
	int status = command_wait(command, signals);

	failed = command_failed(command);
	command_free(command);
	return status;
}

static int run_script(const char *script)
{
	struct command *command = new_script(script);

	command_start(command);
	return end(command);
}

static int run_program(const char *path)
{
	char *name = strdup(path), *argv[] = { name, NULL };
	struct command *command = new_command(argv);

	command_start(command);
	free(name);
	return end(command);
}

static int set_up(void **state)
{
	signal(SIGINT, SIG_DFL); /* also in the background of a shell */
	if (make_test_directory(state) || chdir(test_directory) || chmod(test_directory, 0755))
		return -1;
	return signals_block(&signals);
}

static int tear_down(void **state)
{
	signals_free(signals);
	return chdir("/") || remove_test_directory(state);
}

UNIT_TEST(test_status)
{
	assert_int_equal(run_script("exit 0"), 0);
	assert_int_equal(run_script("exit 7"), 7);
	assert_int_equal(run_script("kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(run_script("exit 127"), 127);
	assert_false(failed);
}

UNIT_TEST(test_not_executable)
{
	const char *said;

	put_text("text", "no program");
	capture_stderr();
	assert_int_equal(run_program("./text"), 126);
	assert_true(failed);
	said = captured();
	assert_string_equal(said, "allocfilt: ./text: Permission denied\n");
	capture_stderr();
	assert_int_equal(run_program("./none"), 127);
	assert_true(failed);
	said = captured();
	assert_string_equal(said, "allocfilt: ./none: No such file or directory\n");
}

/* It waits for its start; one that is never started runs nothing and is gone. */
UNIT_TEST(test_start)
{
	struct command *command = new_script("echo it >>order");
	FILE *file;
	pid_t pid;

	assert_false(command_started(command));
	file = fopen("order", "w");
	fputs("first\n", file);
	fclose(file);
	command_start(command);
	assert_true(command_started(command));
	assert_int_equal(end(command), 0);
	assert_text("order", "first\nit\n");
	command = new_script("echo it >>order");
	pid = command_pid(command);
	command_free(command);
	assert_int_equal(kill(pid, 0), -1);
	assert_text("order", "first\nit\n");
}

UNIT_TEST(test_end_is_seen)
{
	struct command *command = new_script("exec cat fifo");
	struct pollfd ended = { .fd = command_fd(command), .events = POLLIN };
	int fd;

	assert_int_equal(mkfifo("fifo", 0600), 0);
	command_start(command);
	fd = open("fifo", O_WRONLY | O_CLOEXEC);
	assert_int_equal(poll(&ended, 1, 0), 0);
	close(fd);
	assert_int_equal(poll(&ended, 1, 60000), 1);
	assert_int_equal(end(command), 0);
}

/* The C library has signals of its own: 32 and 33. */
#define INHERITED                                                                                  \
	"{ grep -E 'Sig(Blk|Ign)' /proc/self/status | grep -o '.......$'; ls /proc/self/fd; "      \
	"ulimit -n; cat /proc/self/oom_score_adj; } >"

/* As it is when the child is made, whatever becomes of its parent. */
UNIT_TEST(test_inherits)
{
	struct command *command;
	struct rlimit limit;
	sigset_t none;
	FILE *score;
	size_t length;
	char *text;
	int fd;

	signals_free(signals);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	assert_int_equal(system(INHERITED "before"), 0);
	command = new_script(INHERITED "inherited");
	assert_int_equal(signals_block(&signals), 0);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	set_soft_limit(RLIMIT_NOFILE, limit.rlim_cur - 1);
	score = fopen("/proc/self/oom_score_adj", "we");
	assert_non_null(score);
	fprintf(score, "500");
	fclose(score);
	fd = dup(STDIN_FILENO);
	command_start(command);
	assert_int_equal(end(command), 0);
	close(fd);
	assert_int_equal(file_read(NULL, "before", &text, &length), 0);
	assert_text("inherited", text);
	free(text);
}

UNIT_TEST(test_signals)
{
	struct command *command = new_script("exec sleep 1000");

	/* The terminal has sent it to the child too: that would end it before the next one. */
	command_signal(command, SIGTERM, true);
	command_signal(command, SIGINT, false);
	command_start(command);
	assert_int_equal(end(command), 128 + SIGINT);
	/* Those that come while nothing is left to do but to wait. */
	assert_int_equal(run_script("kill -USR1 $PPID; kill -TERM $PPID; exec sleep 1000"),
			 128 + SIGTERM);
}

/* Not all of a terminal's signals reach a child that has left its process group. */
UNIT_TEST(test_signals_of_another_group)
{
	struct command *command = new_script("exec sleep 1000");

	assert_int_equal(setpgid(command_pid(command), 0), 0);
	command_signal(command, SIGTERM, true);
	command_start(command);
	assert_int_equal(end(command), 128 + SIGTERM);
}

/* More than a pipe holds. */
static char text[256 << 10];

/*
 * What a signal does is up to the child, also while nobody reads our output; here the child reads
 * once it has come.
 */
UNIT_TEST(test_signal_while_output_waits)
{
	struct command *command;
	struct writer *writer;
	struct stat status;
	int fd;

	assert_int_equal(mkfifo("output", 0600), 0);
	command = new_script("trap 'exec cat <&3 >read' TERM; exec 3<output; "
			     "while :; do sleep 0.1; done");
	command_start(command);
	fd = open("output", O_WRONLY | O_CLOEXEC);
	writer = writer_new(fd, command_watch(command, signals));
	writer_on_stop(writer, command_stop_asked, command);
	kill(getpid(), SIGTERM);
	writer_put(writer, text, sizeof(text));
	assert_int_equal(writer_flush(writer), 0);
	writer_free(writer);
	close(fd);
	assert_int_equal(end(command), 0);
	assert_int_equal(stat("read", &status), 0);
	assert_int_equal(status.st_size, sizeof(text));
}

/* Its end is that of the run, so what waits then has 2 seconds left. */
UNIT_TEST(test_end_while_output_waits)
{
	struct command *command = new_script("exit 3");
	struct writer *writer;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	writer = writer_new(fds[1], command_watch(command, signals));
	writer_on_stop(writer, command_stop_asked, command);
	command_start(command);
	writer_put(writer, text, sizeof(text));
	assert_int_equal(writer_flush(writer), -ETIMEDOUT);
	writer_free(writer);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(end(command), 3);
}

UNIT_TEST_MAIN(set_up, tear_down)
