// SPDX-License-Identifier: GPL-2.0-or-later
/* A configuration file, alone and under a command line that has most of its settings. */
#include "allocfilt/config/options.h"
#include "fuzz.h"

static const char *const formats[] = {
	"trace", "tree", "json", "perfetto", "html", "folded", NULL
};

/* Returns the error of config_load(). The options point into the arguments. */
static int load(struct options *options, char **arguments, int count)
{
	struct failure failure = { 0 };
	int error = options_parse(options, count, arguments, formats, &failure);

	PROMISED(!error);
	error = config_load(options, &failure);
	PROMISED(!error == !failure.text[0] && (!error || failure.status == EXIT_STATUS_USAGE));
	return error;
}

static void use(const struct options *options)
{
	char text[CONFIG_SETTING_NAME_MAX];
	struct set_option setting;
	struct failure failure;
	size_t place = 0;

	while (options_next_set(options, &place, &setting))
		config_setting_name(options, setting.name, text);
	config_check_report(options, false, options->threshold, &failure);
	config_check_report(options, true, options->threshold, &failure);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = file_of(data, size);
	char alone[64], under[256], **few, **many;
	int nr_few, nr_many;
	struct options one, other;

	snprintf(alone, sizeof(alone), "allocfilt -c %s", path);
	snprintf(under, sizeof(under),
		 "%s -t1ms -p1 -Fschedule -esched:a -b64K -ftree -d1 --top=3 --report=2ms --comm=a "
		 "--cgroup=b --min-order=1 --interval=1 --summary=full --stack",
		 alone);
	few = arguments_of(alone, &nr_few);
	many = arguments_of(under, &nr_many);
	load(&one, few, nr_few);
	/* A setting of the command line comes first, but an error in the file is still one. */
	if (load(&other, many, nr_many) == 0)
		PROMISED(other.threshold == 1000000 && other.top == 3);
	use(&one);
	use(&other);
	options_free(&one);
	options_free(&other);
	free_arguments(few);
	free_arguments(many);
	return 0;
}
