// What pages do beyond links and forms. Every page works without it.
"use strict";
(() => {
  const all = (selector, root) => [...(root || document).querySelectorAll(selector)];

  // data-copy: a button that copies the text of its box
  function copies(root) {
    for (const button of all("[data-copy]", root)) {
      if (!navigator.clipboard) continue;
      button.hidden = false;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(button.closest(".copy").querySelector("code").textContent);
        const said = button.textContent;
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = said; }, 1500);
      });
    }
  }

  // data-slides="#field": a slider and a field that show the same amount; data-steps has the slider's amounts
  function slides(root) {
    for (const slider of all("[data-slides]", root)) {
      const field = document.querySelector(slider.dataset.slides);
      const steps = slider.dataset.steps.split(" ");
      const follow = () => {
        const amount = Number(field.value);
        if (!(amount > 0)) return;
        const far = steps.map((step) => Math.abs(Math.log(Number(step) / amount)));
        slider.value = String(far.indexOf(Math.min(...far)));
        slider.setAttribute("aria-valuetext", "ε = " + field.value);
      };
      slider.closest("[hidden]")?.removeAttribute("hidden");
      slider.addEventListener("input", () => {
        field.value = steps[Number(slider.value)];
        slider.setAttribute("aria-valuetext", "ε = " + field.value);
        field.dispatchEvent(new Event("input", { bubbles: true }));
      });
      field.addEventListener("input", follow);
      follow();
    }
  }

  // The address of the page has what is in the form, so that the way back to it leads to the same question
  function remember(form, fields) {
    const kept = new URLSearchParams(fields);
    for (const name of ["form_key", "id", "sure"]) kept.delete(name);
    if (kept.toString().length < 4000) history.replaceState(null, "", form.getAttribute("action") + "?" + kept);
  }

  // data-live="URL" data-into="#id" on a form: what URL says about the form as it is now; data-send="post" for long forms
  function lives(root) {
    for (const form of all("form[data-live]", root)) {
      if (form.dataset.send !== "post" && !location.search) remember(form, new FormData(form));
      const place = document.querySelector(form.dataset.into);
      const folds = new Map();
      let timer = 0, asked = 0;
      const load = async () => {
        const mine = ++asked;
        const fields = new URLSearchParams(new FormData(form));
        const posted = form.dataset.send === "post";
        if (!posted) { fields.delete("form_key"); remember(form, fields); }
        place.classList.add("busy");
        try {
          const headers = { "X-Fragment": "1" };
          const reply = posted
            ? await fetch(form.dataset.live, { method: "POST", headers, body: fields })
            : await fetch(form.dataset.live + "?" + fields, { headers });
          const text = await reply.text();
          if (mine !== asked) return;
          if (reply.redirected) { location.reload(); return; }
          await released;
          if (mine !== asked) return;
          const back = stays(place, folds);
          place.innerHTML = text;
          started(place);
          back();
          marks(form, place);
          settles(form, place);
          for (const note of all("[data-at]", place)) document.getElementById(note.dataset.at).textContent = note.textContent;
        } catch (problem) {
          if (mine === asked) place.textContent = "The service does not answer. Try again in a moment.";
        } finally {
          if (mine === asked) place.classList.remove("busy");
        }
      };
      form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(load, 250); });
      form.addEventListener("change", () => { clearTimeout(timer); timer = setTimeout(load, 60); });
    }
  }

  // What somebody has opened or closed in a part of the page, where the focus is and how far it is scrolled: they are
  // the same after the part is replaced, and a fold that was gone for a while comes back as it was
  function stays(place, folds) {
    const title = (fold) => fold.querySelector("summary")?.textContent.trim();
    for (const fold of all("details", place)) folds.set(title(fold), fold.open);
    const active = place.contains(document.activeElement) ? document.activeElement : null;
    const alike = () => all(active.tagName, place);
    const nth = active && alike().indexOf(active), id = active?.id;
    const scrolled = all("pre, .scroll", place).map((part) => [part.scrollLeft, part.scrollTop]);
    return () => {
      for (const fold of all("details", place)) if (folds.has(title(fold))) fold.open = folds.get(title(fold));
      all("pre, .scroll", place).forEach((part, at) => { if (scrolled[at]) [part.scrollLeft, part.scrollTop] = scrolled[at]; });
      if (active) ((id && document.getElementById(id)) || alike()[nth])?.focus({ preventScroll: true });
    };
  }

  // nothing moves between the press and the release of a button, with the pointer or the keyboard
  let released = Promise.resolve();
  function held(pressed, ends) {
    addEventListener(pressed, (event) => {
      if ((event.key && event.key !== " ") || !event.target.closest?.("button, a, label, summary, pre")) return;
      released = new Promise((done) => {
        const later = () => setTimeout(done, 50);  // the click comes right after the release
        for (const kind of ends) addEventListener(kind, later, { capture: true, once: true });
        setTimeout(done, 5000);
      });
    }, true);
  }
  held("pointerdown", ["pointerup", "pointercancel"]);
  held("keydown", ["keyup", "blur"]);

  // a link to a part of the page opens the folds around it
  addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    const there = link && document.getElementById(link.getAttribute("href").slice(1));
    for (let fold = there?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }, true);

  // data-of="id" in such a part: what is wrong with a field, shown at the field; data-says: what data-heard says aloud.
  // data-calm: it is not shown before the field is filled in and left. data-at="id": a text that belongs elsewhere
  function marks(form, place) {
    const early = (said, field) => said.dataset.calm !== undefined && field?.ariaInvalid !== "true"
      && !field?.querySelector(".problem") && (!field?.value || field === document.activeElement);
    const wrong = new Map(all("[data-of]", place)
      .filter((said) => !early(said, document.getElementById(said.dataset.of)))
      .map((said) => [said.dataset.of, said.textContent]));
    for (const note of all(".field .problem", form)) {
      const field = note.closest(".field"), marked = form.querySelector(`[aria-describedby~="${note.id}"]`);
      note.remove();
      field.classList.remove("wrong");
      if (!marked) continue;
      marked.removeAttribute("aria-invalid");
      marked.setAttribute("aria-describedby", marked.getAttribute("aria-describedby").replace(note.id, "").trim());
    }
    for (const [id, said] of wrong) {
      const marked = document.getElementById(id), field = marked?.closest(".field");
      if (!field) continue;
      const note = document.createElement("p");
      note.className = "problem";
      note.id = "p-" + id.replace(/^f-/, "");
      note.textContent = said;
      field.append(note);
      field.classList.add("wrong");
      if (marked.matches("input, select, textarea")) marked.setAttribute("aria-invalid", "true");
      marked.setAttribute("aria-describedby", `${marked.getAttribute("aria-describedby") || ""} ${note.id}`.trim());
    }
    const heard = form.querySelector("[data-heard]"), says = place.querySelector("[data-says]");
    if (heard && says) heard.textContent = says.textContent;
  }

  // data-marked: a list of what was wrong when the form was sent; what is right by now goes. data-until-typed: a note on
  // the form as it was
  function settles(form, place) {
    for (const list of all("[data-marked]")) {
      const lines = all("li", list);
      for (const line of lines) line.hidden = !place.querySelector(`[data-of="${CSS.escape(line.querySelector("a").hash.slice(1))}"]`);
      list.hidden = lines.every((line) => line.hidden);
    }
    for (const note of all("[data-until-typed]")) note.hidden = true;
  }

  // a form that is sent again has nothing wrong until it is answered: a file to save leaves the page as it is
  addEventListener("submit", (event) => { for (const said of all(".problem", event.target)) said.hidden = true; });

  // a link to a place in a folded part opens it
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    const there = link && document.getElementById(decodeURIComponent(link.hash.slice(1)));
    for (let fold = there?.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) fold.open = true;
  });

  // data-lists on a list of attributes: the value beside it offers the levels of the chosen one, in data-list
  function lists(root) {
    for (const chooser of all("[data-lists]", root)) {
      chooser.addEventListener("change", () => {
        const value = chooser.parentElement.querySelector("[name=value]");
        value.setAttribute("list", chooser.selectedOptions[0].dataset.list || "");
      });
    }
  }

  // data-plain: what only those need who have no script
  function plains(root) {
    for (const part of all("[data-plain]", root)) part.hidden = true;
  }

  // data-if="name=value other" on a part of a form: it is shown for these values of a field only; * is any value
  function chooses(root) {
    for (const form of all("form", root)) {
      const show = () => {
        const fields = new FormData(form);
        for (const part of all("[data-if]", form)) {
          const [name, values] = part.dataset.if.split("=");
          const chosen = fields.getAll(name);
          part.hidden = !values.split(" ").some((value) => (value === "*" ? chosen.some(Boolean) : chosen.includes(value)));
        }
      };
      form.addEventListener("change", show);
      show();
    }
  }

  // data-refresh="URL" data-every="ms": a part of the page that is loaded again until the reply says where to go
  function refreshes(root) {
    for (const part of all("[data-refresh]", root)) {
      const load = async () => {
        try {
          const reply = await fetch(part.dataset.refresh, { headers: { "X-Fragment": "1" } });
          const next = reply.headers.get("Adyton-Next");
          if (next || reply.redirected) {
            const there = new URL(next || location.href, location.href);
            const here = there.pathname + there.search === location.pathname + location.search;
            if (here) location.reload(); else location.replace(there.href);  // a fragment alone would load nothing
            return;
          }
          part.innerHTML = await reply.text();
          started(part);
        } catch (problem) { /* it is asked again */ }
        setTimeout(load, Number(part.dataset.every));
      };
      setTimeout(load, Number(part.dataset.every));
    }
  }

  // data-reads="#field": a file on this machine, whose text goes into a field; it is sent with the form only
  function reads(root) {
    for (const chooser of all("input[type=file][data-reads]", root)) {
      chooser.closest("[hidden]")?.removeAttribute("hidden");
      chooser.addEventListener("change", async () => {
        const field = document.querySelector(chooser.dataset.reads);
        if (chooser.files[0]) field.value = await chooser.files[0].text();
        field.dispatchEvent(new Event("input", { bubbles: true }));
      });
    }
  }

  // data-busy="words" on a button: what it says while the next page is made
  function busies(root) {
    for (const button of all("[data-busy]", root)) {
      const said = button.textContent;
      button.form.addEventListener("submit", (event) => { if (event.submitter === button) button.textContent = button.dataset.busy; });
      addEventListener("pageshow", () => { button.textContent = said; });
    }
  }

  function started(root) {
    for (const start of [copies, slides, lives, chooses, lists, refreshes, reads, plains, busies]) start(root);
  }
  started(document);
})();
