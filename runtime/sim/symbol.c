/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Maps a code address to a function name by the symbol table of the file it was loaded from:
 * kernels are usually static functions, and dladdr finds exported ones only. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/sim.h"

typedef struct image {
	const char *bytes;
	size_t nbytes;
} image_t;

static image_t map_file(const char *path)
{
	image_t image = {NULL, 0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return image;
	if (fstat(fd, &st) == 0 && st.st_size > (off_t)sizeof(Elf64_Ehdr)) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			image.bytes = p;
			image.nbytes = (size_t)st.st_size;
		}
	}
	close(fd);
	return image;
}

/* The part of the file that a section header describes; NULL if it is not within the file. */
static const void *part(const image_t *image, const Elf64_Shdr *sh)
{
	if (sh->sh_offset > image->nbytes || sh->sh_size > image->nbytes - sh->sh_offset)
		return NULL;
	return image->bytes + sh->sh_offset;
}

typedef struct wanted {
	int type;    /* STT_FUNC or STT_OBJECT */
	uint64_t at; /* after a search: its offset in the symbol */
} wanted_t;

static const char *search(const Elf64_Sym *syms, size_t n, const char *names, size_t names_nbytes,
			  wanted_t *wanted)
{
	uint64_t at = wanted->at;
	for (size_t i = 0; i < n; i++)
		if (ELF64_ST_TYPE(syms[i].st_info) == wanted->type && syms[i].st_value <= at &&
		    at - syms[i].st_value < syms[i].st_size && syms[i].st_name < names_nbytes) {
			wanted->at = at - syms[i].st_value;
			return names + syms[i].st_name;
		}
	return NULL;
}

/* wanted->at: the address; base is subtracted from it if the file may be loaded anywhere. */
static const char *look_up(const image_t *image, wanted_t *wanted, uint64_t base)
{
	const Elf64_Ehdr *eh = (const void *)image->bytes;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_shoff + (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr) > image->nbytes)
		return NULL;
	const Elf64_Shdr *sh = (const void *)(image->bytes + eh->e_shoff);
	if (eh->e_type != ET_EXEC)
		wanted->at -= base;
	for (int i = 0; i < eh->e_shnum; i++) {
		if (sh[i].sh_type != SHT_SYMTAB || sh[i].sh_link >= eh->e_shnum)
			continue;
		const Elf64_Shdr *strings = &sh[sh[i].sh_link];
		const Elf64_Sym *syms = part(image, &sh[i]);
		const char *names = part(image, strings);
		if (syms && names)
			return search(syms, sh[i].sh_size / sizeof(*syms), names, strings->sh_size,
				      wanted);
	}
	return NULL;
}

static image_t map_loaded(const Dl_info *info)
{
	image_t image = map_file(info->dli_fname);
	if (!image.bytes) /* the program itself, started through PATH or from another directory */
		image = map_file("/proc/self/exe");
	return image;
}

typedef char *demangle_t(const char *name, char *out, size_t *nbytes, int *status);

/* Of the program's C++ library, or of that of this system: a program may use C++ and need nothing
 * of its library. NULL: there is none. */
static demangle_t *demangler(void)
{
	static demangle_t *found;
	static bool is_known;
	if (!is_known) {
		*(void **)&found = dlsym(RTLD_DEFAULT, "__cxa_demangle");
		void *library = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (library)
			*(void **)&found = dlsym(library, "__cxa_demangle");
		is_known = true;
	}
	return found;
}

/* The name as the source has it, without its parameters. */
static void format_name(const char *name, char *text, size_t nbytes)
{
	bool is_mangled = strncmp(name, "_Z", 2) == 0;
	char *plain = is_mangled && demangler() ? demangler()(name, NULL, NULL, &(int){0}) : NULL;
	if (plain && strchr(plain, '('))
		*strchr(plain, '(') = '\0';
	if (plain && strncmp(plain, "void ", 5) == 0) /* a template's name has its result */
		shmemsimi_format(text, nbytes, "%s", plain + 5);
	else
		shmemsimi_format(text, nbytes, "%s", plain ? plain : name);
	free(plain);
}

static bool resolve(const void *pc, char *text, size_t nbytes)
{
	Dl_info info;
	/* a return address may be past the function whose last instruction is the call */
	const char *at = (const char *)pc - 1;
	if (!dladdr(at, &info) || !info.dli_fname) {
		shmemsimi_format(text, nbytes, "%p", pc);
		return false;
	}
	uint64_t base = (uint64_t)(uintptr_t)info.dli_fbase;
	wanted_t wanted = {STT_FUNC, (uint64_t)(uintptr_t)at};
	image_t image = map_loaded(&info);
	const char *name = image.bytes ? look_up(&image, &wanted, base) : NULL;
	name = name ? name : info.dli_sname;
	if (name)
		format_name(name, text, nbytes);
	else
		shmemsimi_format(text, nbytes, "%s+0x%llx", info.dli_fname,
				 (unsigned long long)((uint64_t)(uintptr_t)at - base));
	if (image.bytes)
		munmap((void *)(uintptr_t)image.bytes, image.nbytes);
	return name != NULL;
}

/* Name of the function that contains pc, or file+offset for a debugger. Returns true for a name.
 * Caches the last results: the fibers of a kernel wait at few places. */
bool shmemsimi_symbol(const void *pc, char *text, size_t nbytes)
{
	static struct {
		const void *pc;
		int is_name;
		char text[128];
	} known[64];
	static unsigned next;
	unsigned i = 0;
	while (i < 64 && known[i].pc != pc)
		i++;
	if (i == 64) {
		i = next++ % 64;
		known[i].pc = pc;
		known[i].is_name = resolve(pc, known[i].text, sizeof(known[i].text));
	}
	shmemsimi_format(text, nbytes, "%s", known[i].text);
	return known[i].is_name;
}

bool shmemsimi_variable(const void *p, char *text, size_t nbytes)
{
	Dl_info info;
	wanted_t wanted = {STT_OBJECT, (uint64_t)(uintptr_t)p};
	if (!dladdr(p, &info) || !info.dli_fname)
		return false;
	image_t image = map_loaded(&info);
	const char *name = NULL;
	if (image.bytes)
		name = look_up(&image, &wanted, (uint64_t)(uintptr_t)info.dli_fbase);
	if (name && wanted.at)
		shmemsimi_format(text, nbytes, "%s+%llu", name, (unsigned long long)wanted.at);
	else if (name)
		shmemsimi_format(text, nbytes, "%s", name);
	if (image.bytes)
		munmap((void *)(uintptr_t)image.bytes, image.nbytes);
	return name != NULL;
}
