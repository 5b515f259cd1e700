/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the help of a command as roff, with the macros of man(7). */
#include "plugin/man.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/macros.h"

#define PAGE_MAX ((size_t)64 << 10)
#define NAME_MAX_LEN 64

static const char program[] = "kubectl-afterglow";

/*
 * Escapes text for roff, which reads a backslash as an escape, a minus as a hyphen, and a dot or an
 * apostrophe at the start of a line as a request.
 */
static void add_text(struct strbuf *out, const char *text, size_t len)
{
	if (len > 0 && (text[0] == '.' || text[0] == '\''))
		strbuf_adds(out, "\\&");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\')
			strbuf_adds(out, "\\e");
		else if (text[i] == '-')
			strbuf_adds(out, "\\-");
		else
			strbuf_addc(out, text[i]);
	}
}

static void add_line(struct strbuf *out, const char *text, size_t len)
{
	add_text(out, text, len);
	strbuf_addc(out, '\n');
}

/* In "-n, --namespace NAME   look in this namespace" the text before the gap becomes the term. */
static void add_option(struct strbuf *out, const char *line, size_t len)
{
	size_t indent = strspn(line, " "), term = indent, text;

	while (term < len && !(line[term] == ' ' && line[term + 1] == ' '))
		term++;
	text = term + strspn(line + term, " ");
	strbuf_adds(out, ".TP\n.B ");
	add_line(out, line + indent, term - indent);
	add_line(out, line + text, len - text);
}

/* Adds the help after its usage line: a paragraph, a blank line, options. */
static void add_body(struct strbuf *out, const char *help)
{
	const char *line = help + strcspn(help, "\n");
	bool options = false;

	strbuf_adds(out, ".SH DESCRIPTION\n");
	while (*line == '\n' && *++line) {
		size_t len = strcspn(line, "\n");

		if (len == 0) {
			strbuf_adds(out, ".SH OPTIONS\n");
			options = true;
		} else if (options)
			add_option(out, line, len);
		else
			add_line(out, line, len);
		line += len;
	}
}

static void add_commands(struct strbuf *out)
{
	strbuf_adds(out, ".SH COMMANDS\n");
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++) {
		strbuf_addf(out, ".TP\n.B %s %s\n", commands[c].name, commands[c].arguments);
		add_text(out, commands[c].summary, strlen(commands[c].summary));
		strbuf_addf(out, ":\n.BR %s\\-%s (1)\n", "kubectl\\-afterglow", commands[c].name);
	}
}

static void add_end(struct strbuf *out, enum command command)
{
	strbuf_adds(out, ".SH EXIT STATUS\n0: all went well. 1: kubectl failed, or something was not found, or the doctor found something broken. "
			 "2: the command line is wrong.\n");
	strbuf_adds(out, ".SH ENVIRONMENT\n.TP\n.B KUBECTL\nThe program that is run to reach the cluster, in place of kubectl.\n");
	strbuf_adds(out, ".SH SEE ALSO\n.BR kubectl (1)");
	if (command != COMMAND_NONE)
		strbuf_adds(out, ",\n.BR kubectl\\-afterglow (1)");
	strbuf_addc(out, '\n');
}

static void add_name(struct strbuf *out, enum command command)
{
	const char *name = commands[command].name;

	add_text(out, program, strlen(program));
	strbuf_adds(out, *name ? "\\-" : "");
	strbuf_adds(out, name);
}

void man_page(enum command command, struct strbuf *out)
{
	const struct command_info *info = &commands[command];
	static const char usage[] = "usage: ";

	strbuf_adds(out, ".\\\" Made from the help of the program.\n.TH ");
	add_name(out, command);
	strbuf_adds(out, " 1 \"\" \"afterglow " AFTERGLOW_VERSION "\" \"kubectl afterglow\"\n.SH NAME\n");
	add_name(out, command);
	strbuf_adds(out, " \\- ");
	add_line(out, info->summary, strlen(info->summary));
	strbuf_adds(out, ".SH SYNOPSIS\n.B ");
	add_line(out, info->help + strlen(usage), strcspn(info->help, "\n") - strlen(usage));
	add_body(out, info->help);
	if (command == COMMAND_NONE)
		add_commands(out);
	add_end(out, command);
}

static int write_page(int dir_fd, enum command command, struct err *err)
{
	_cleanup_strbuf_ struct strbuf page = STRBUF_INIT(PAGE_MAX);
	char name[NAME_MAX_LEN];

	snprintf(name, sizeof(name), "%s%s%s.1", program, command ? "-" : "", commands[command].name);
	man_page(command, &page);
	if (strbuf_failed(&page))
		return err_set(err, ENOMEM, "%s", name);
	return file_put(dir_fd, name, strbuf_str(&page), page.len, 0644, err);
}

int man_write(const char *directory, struct err *err)
{
	_cleanup_close_ int dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = dir_fd < 0 ? err_set(err, errno, "directory %s", directory) : 0;

	for (enum command c = COMMAND_NONE; r == 0 && c < COMMAND_COUNT; c++)
		r = write_page(dir_fd, c, err);
	return r;
}
