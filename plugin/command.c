/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: their arguments and their text of --help. */
#include "plugin/command.h"

#include <string.h>

#define NAMESPACE_HELP "  -n, --namespace NAME   look in this namespace (default: kubectl's)\n"
#define ALL_HELP "  -A, --all-namespaces   look in all namespaces\n"
#define CONTEXT_HELP \
	"      --context NAME, --kubeconfig FILE   as kubectl has them\n" \
	"  -h, --help             print this\n"
#define COMMON_HELP NAMESPACE_HELP ALL_HELP CONTEXT_HELP

#define FILTER_HELP \
	"      --class CLASS      only failures of this class, such as KernelOOMContainer\n" \
	"      --cluster NAME     only those of this RayCluster\n" \
	"      --owner KIND/NAME  only those of this RayJob, RayService or RayCluster: RayJob/train\n" \
	"      --since AGE        only failures not older than this: 90s, 30m, 2h, 7d\n" \
	"  -l, --selector LABELS  only failures with these labels, written as for kubectl\n"

#define STORE_HELP "      --store DIR        bundles below DIR in place of a cluster; NAME: the newest by default\n"
#define JSON_HELP "  -o, --output json      print the same as JSON\n"

#define IMAGE_HELP "      --image IMAGE      the sidecar's image (default: that of a Ray pod in the namespace)\n"

const struct command_info commands[COMMAND_COUNT] = {
	[COMMAND_NONE] = { "", 0, 0, "COMMAND [ARGUMENT]", "list and explain the failures of Ray clusters",
		"usage: kubectl afterglow COMMAND [ARGUMENT] [OPTION...]\n"
		"Lists and explains the failures of Ray clusters. kubectl itself is run to reach the cluster.\n" },
	[COMMAND_LIST] = { "list", 0, 0, "", "list failures, the newest last",
		"usage: kubectl afterglow list [OPTION...]\n"
		"Lists RayFailures, the newest last.\n"
		"\n" FILTER_HELP
		"      --by-signature     print one line for each signature, with the number of its failures\n"
		"  -o, --output FORMAT    json, yaml, name or wide, as kubectl has them; json with --store\n"
		"  -w, --watch            then print new failures as they come\n" STORE_HELP COMMON_HELP },
	[COMMAND_SHOW] = { "show", 1, 1, "NAME", "show one failure with its evidence: of a pod, RayJob/NAME, a cluster",
		"usage: kubectl afterglow show NAME [OPTION...]\n"
		"Prints one failure with its evidence. NAME is the name of a RayFailure, or of what failed: a pod or the\n"
		"beginning of its name (demo-head), its IP, Ray's ID of the node or worker, RayJob/NAME, RayService/NAME\n"
		"or a RayCluster. Then the newest failure of it is printed; of a job, service or cluster what ended first.\n"
		"\n"
		"  -o, --output FORMAT    json or yaml: the RayFailure itself; json with --store: report.json\n" STORE_HELP COMMON_HELP },
	[COMMAND_REPORT] = { "report", 1, 1, "NAME", "open the page of a failure, with its charts and logs, in a browser",
		"usage: kubectl afterglow report NAME [OPTION...]\n"
		"Fetches the page of a failure (report.html of its bundle: verdict, charts, processes, logs) and opens it\n"
		"with xdg-open, or open on macOS. NAME is what `show` takes. The page comes through a pod\n"
		"as with `bundle`, which needs the same rights, and its digest is compared.\n"
		"\n"
		"  -o, --output FILE      write the page to this file, which is replaced (default: a temporary file)\n"
		"      --no-open          print the name of the file and open nothing\n" STORE_HELP IMAGE_HELP COMMON_HELP },
	[COMMAND_INCIDENTS] = { "incidents", 0, 1, "[ID]", "show failures that belong together: the first cause and what followed",
		"usage: kubectl afterglow incidents [ID] [OPTION...]\n"
		"Prints each first cause with the failures that followed from it. With an ID, prints only that incident.\n"
		"\n" FILTER_HELP JSON_HELP
		"      --store DIR        bundles below DIR in place of a cluster\n" COMMON_HELP },
	[COMMAND_EXPLAIN] = { "explain", 1, 1, "WORD", "explain an exit code, a signal, a class, a reason or an exception: explain 137",
		"usage: kubectl afterglow explain WORD\n"
		"Explains what an exit code from 0 to 255, a signal (SIGKILL or -9), a class of failure, a reason that\n"
		"Kubernetes shows (OOMKilled) or an exception or message of Ray's (NodeDiedError) means, what can cause\n"
		"it, and how to tell the causes apart. A message in quotation marks may be longer. It needs no cluster.\n"
		"\n" JSON_HELP
		"  -h, --help             print this\n" },
	[COMMAND_TOP] = { "top", 0, 1, "[POD]", "show the memory of running Ray pods by task, actor and process",
		"usage: kubectl afterglow top [POD] [OPTION...]\n"
		"Prints the memory of running Ray pods, the fullest first, and what all of them hold by task, actor and\n"
		"part of Ray. With a POD, prints the largest processes of that pod, too. The API server asks the sidecars\n"
		"(port 9095 to 9099), so you need the right to get pods/proxy, and it must reach the pods.\n"
		"\n"
		"      --cluster NAME     only pods of this RayCluster\n"
		"  -l, --selector LABELS  only pods with these labels, written as for kubectl\n"
		"  -o, --output json      print what the sidecars answered\n" COMMON_HELP },
	[COMMAND_MEMORY] = { "memory", 1, 2, "WHAT [BEFORE]", "show what each task needed, and which memory settings follow",
		"usage: kubectl afterglow memory WHAT [BEFORE] [OPTION...]\n"
		"Prints how much memory the runs of each task and actor have needed, what each group of pods peaked at,\n"
		"and what to set: memory=, num_cpus=, the group's limit and object store, each with the sum it comes from.\n"
		"WHAT is a RayCluster, RayJob/NAME, RayService/NAME, or a file that this command wrote with --output json.\n"
		"While pods run, their sidecars are asked, as for `top`. Afterwards it is what the operator has kept, or the\n"
		"bundles of its pods are read, as for `report`. BEFORE, another run, is compared with it; of a job it is the\n"
		"run before by default.\n"
		"\n"
		"  -o, --output json      print the same as JSON\n"
		"      --store DIR        bundles below DIR in place of a cluster; WHAT: a cluster, a command or a\n"
		"                         bundle there (default: all)\n" IMAGE_HELP NAMESPACE_HELP CONTEXT_HELP },
	[COMMAND_STACK] = { "stack", 1, 2, "WHAT [NAME]", "show what the threads of running Ray pods are doing",
		"usage: kubectl afterglow stack WHAT [NAME] [OPTION...]\n"
		"Prints the stacks of the processes of Ray pods that run, Python's frames and native ones: of all, or of the\n"
		"process whose PID is NAME, or of those with NAME in their names. Equal stacks of all pods are put together,\n"
		"the rarest first. WHAT is a pod, a RayCluster, RayJob/NAME or RayService/NAME. Each process stands still for\n"
		"a few milliseconds. It needs neither py-spy nor a privilege in the pod; you need the right to create\n"
		"pods/exec.\n"
		"\n" JSON_HELP NAMESPACE_HELP CONTEXT_HELP },
	[COMMAND_OBJECTS] = { "objects", 1, 1, "WHAT", "show what Ray's object store holds, who made it and who keeps it",
		"usage: kubectl afterglow objects WHAT [OPTION...]\n"
		"Prints what Ray's object store holds, the largest first: which lines of code made the objects, and which\n"
		"processes keep them and how, as `ray memory` has them in a line for each reference. WHAT is a RayCluster,\n"
		"RayJob/NAME, RayService/NAME or a pod. A script of Python runs in the Ray container of the head for at most\n"
		"60 seconds, so you need the right to create pods/exec, and the head some 150 MiB of memory.\n"
		"\n"
		"  -c, --container NAME   in which container (default: the first of the pod)\n"
		"      --before FILE      compare with FILE, an earlier answer by --output json: the most grown first\n"
		JSON_HELP NAMESPACE_HELP CONTEXT_HELP },
	[COMMAND_BUNDLE] = { "bundle", 2, 2, "NAME DIR", "save the bundle of a failure, all of its evidence, in a directory",
		"usage: kubectl afterglow bundle NAME DIR [OPTION...]\n"
		"Saves the bundle of a failure in DIR, which is made or empty. NAME is what `show` takes. A pod\n"
		"that is made from the sidecar's image reads the store (claim, S3, Azure or HDFS), and is deleted\n"
		"afterwards, also after Ctrl-C. The digest of each file is compared. You need the rights to create pods\n"
		"and pods/exec, and to delete pods.\n"
		"\n" IMAGE_HELP COMMON_HELP },
	[COMMAND_PAGE] = { "page", 0, 1, "[FILE]", "write all failures as one HTML page, with a timeline and filters",
		"usage: kubectl afterglow page [FILE] [OPTION...]\n"
		"Writes all failures as one HTML page that needs nothing else: a timeline, incidents, groups by signature,\n"
		"and filters. It goes to FILE, which is replaced, or to stdout.\n"
		"\n" FILTER_HELP STORE_HELP COMMON_HELP },
	[COMMAND_RELEASE] = { "release", 1, 1, "POD", "end a container that is held after its failure",
		"usage: kubectl afterglow release POD [OPTION...]\n"
		"Ends the Ray container of a pod that is held after its failure (recording.holdOnFailure).\n"
		"\n"
		"  -c, --container NAME   which container (default: the first Ray container of the pod)\n" NAMESPACE_HELP CONTEXT_HELP },
	[COMMAND_DOCTOR] = { "doctor", 0, 0, "", "show what this cluster grants Afterglow, what each gap costs, how to close it",
		"usage: kubectl afterglow doctor [OPTION...]\n"
		"Looks at CRDs, operator, webhook, Ray pods, claims and nodes. Ends with 1 if something is broken.\n"
		"\n" JSON_HELP COMMON_HELP },
};

enum command command_find(const char *name)
{
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		if (strcmp(commands[c].name, name) == 0)
			return c;
	return COMMAND_NONE;
}

#define SUMMARY_COLUMN 27

/* The program's help is made here, because the commands come from the table. */
static void add_program_help(struct strbuf *out)
{
	strbuf_adds(out, "\n");
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		strbuf_addf(out, "  %s %-*s%s\n", commands[c].name, SUMMARY_COLUMN - 1 - (int)strlen(commands[c].name), commands[c].arguments,
			    commands[c].summary);
	strbuf_adds(out, "\n`kubectl afterglow COMMAND --help` says more.\n");
}

void command_add_help(enum command command, struct strbuf *out)
{
	strbuf_adds(out, commands[command].help);
	if (command == COMMAND_NONE)
		add_program_help(out);
}

void command_add_names(struct strbuf *out)
{
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		strbuf_addf(out, "%s%s", c == COMMAND_NONE + 1 ? "" : c == COMMAND_COUNT - 1 ? " and " : ", ", commands[c].name);
}
